/** The time that "what changed" looks at, in cells: the range asked about, and before it the history to compare it with. */
import type { GridWindow } from "../explain/grid.ts";

/** About so many cells for the range; its history has up to three times as many. */
const rangeCells = 48;
const leastStepMs = 5_000;
const leastHistoryMs = 15 * 60_000;
const dayMs = 86_400_000;
export const shortestRangeMs = 10_000;
export const longestRangeMs = 7 * dayMs;
/** GPU time that is read without a gap, for all GPUs together. More is read in slices, one of each cell. */
const wholeMs = 12 * 3_600_000;
const leastSliceMs = 20_000;
/** From this share on, one read of everything is cheaper than many of slices. */
const wholeShare = 0.6;

export interface ChangeGrid extends GridWindow {
  /** Width of a cell. */
  readonly stepMs: number;
  /** The first cell of the range. */
  readonly rangeCell: number;
  /** Where the range begins, within that cell. */
  readonly rangeFromMs: number;
}

/** The cells end with the range. */
export function changeGrid(fromMs: number, toMs: number): ChangeGrid {
  const rangeMs = toMs - fromMs;
  const stepMs = Math.max(leastStepMs, Math.ceil(rangeMs / rangeCells / 1_000) * 1_000);
  const historyMs = Math.max(leastHistoryMs, Math.min(3 * rangeMs, Math.max(dayMs, rangeMs)));
  const inRange = Math.ceil(rangeMs / stepMs);
  const before = Math.ceil(historyMs / stepMs);
  const cellCount = before + inRange;
  return {
    fromMs: toMs - cellCount * stepMs,
    toMs,
    firstCell: 0,
    cellCount,
    stepMs,
    rangeCell: before,
    rangeFromMs: fromMs,
  };
}

/** What to read of the grid: all of it at once, or the end of every cell where that would be too much. */
export function readSpans(
  { fromMs, toMs, stepMs, cellCount }: ChangeGrid,
  gpus: number,
): readonly { readonly fromMs: number; readonly toMs: number }[] {
  const share = wholeMs / ((toMs - fromMs) * Math.max(1, gpus));
  const sliceMs = Math.min(stepMs, Math.max(leastSliceMs, share * stepMs));
  if (sliceMs >= wholeShare * stepMs) return [{ fromMs, toMs }];
  return Array.from({ length: cellCount }, (_, cell) => {
    const endMs = fromMs + (cell + 1) * stepMs;
    return { fromMs: Math.round(endMs - sliceMs), toMs: endMs };
  });
}
