/** The time grid of "what changed", in cells: the requested range, and before it the history for comparison. */
import type { GridWindow } from "../explain/grid.ts";

/** Approximate number of cells of the range. The history has up to three times as many. */
const rangeCells = 48;
const leastStepMs = 5_000;
const leastHistoryMs = 15 * 60_000;
const dayMs = 86_400_000;
export const shortestRangeMs = 10_000;
export const longestRangeMs = 7 * dayMs;
/** GPU time (range × number of GPUs) that is read completely. Beyond it, only a slice of each cell is read. */
const wholeMs = 12 * 3_600_000;
const leastSliceMs = 20_000;
/** If slices would cover at least this share, one read of everything is cheaper. */
const wholeShare = 0.6;

export interface ChangeGrid extends GridWindow {
  /** Width of a cell. */
  readonly stepMs: number;
  /** The first cell of the range. */
  readonly rangeCell: number;
  /** Start of the range, inside that cell. */
  readonly rangeFromMs: number;
}

/** Builds the grid so that its last cell ends with the range. */
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

/** Returns the time spans to read: the whole grid at once, or the end of every cell if that would be too much. */
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
