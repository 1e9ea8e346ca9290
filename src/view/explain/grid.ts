/**
 * The time grid of an explanation, in cells of 20 seconds: the last hours completely, and before them a slice every few hours,
 * which shows what is usual at a fraction of the cost of reading a whole day.
 */
import type { SampleColumn } from "../../model/select.ts";

export const cellMs = 20_000;

/** Consecutive cells. As in PromQL, a cell is (start, end]. */
export interface GridWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly firstCell: number;
  readonly cellCount: number;
}

export interface GridOptions {
  /** Length of the recent window, which is read completely up to the time of the explanation. */
  readonly recentMs: number;
  readonly historyMs: number;
  readonly sliceMs: number;
  readonly sliceEveryMs: number;
  /** Part of the recent window that is read for GPUs on other machines. */
  readonly peerRecentMs: number;
}

const defaultGrid: GridOptions = {
  recentMs: 2 * 3_600_000,
  historyMs: 24 * 3_600_000,
  sliceMs: 8 * 60_000,
  sliceEveryMs: 2 * 3_600_000,
  peerRecentMs: 24 * 60_000,
};

export class CellGrid {
  /** Oldest first; the last is the recent window. */
  readonly windows: readonly GridWindow[];
  /** Windows that show the usual state of GPUs on other machines: every second slice, and the end of the recent window. */
  readonly peerWindows: readonly GridWindow[];
  readonly timeMs: number;
  readonly cellCount: number;
  /** The first cell of the recent window. */
  readonly recentCell: number;
  /** End of each cell. */
  readonly endMs: Float64Array;

  constructor(timeMs: number, options: GridOptions = defaultGrid) {
    const { recentMs, historyMs, sliceMs, sliceEveryMs, peerRecentMs } = options;
    this.timeMs = timeMs;
    const spans: { fromMs: number; toMs: number }[] = [];
    for (let toMs = timeMs - recentMs - sliceEveryMs / 2; toMs - sliceMs >= timeMs - historyMs;) {
      spans.unshift({ fromMs: toMs - sliceMs, toMs });
      toMs -= sliceEveryMs;
    }
    spans.push({ fromMs: timeMs - recentMs, toMs: timeMs });
    let firstCell = 0;
    this.windows = spans.map(({ fromMs, toMs }) => {
      const cellCount = Math.round((toMs - fromMs) / cellMs);
      const window = { fromMs, toMs, firstCell, cellCount };
      firstCell += cellCount;
      return window;
    });
    this.cellCount = firstCell;
    const peerCells = Math.round(Math.min(peerRecentMs, recentMs) / cellMs);
    this.peerWindows = [
      ...this.windows.slice(0, -1).filter((_, at) => at % 2 === 0),
      {
        fromMs: timeMs - peerCells * cellMs,
        toMs: timeMs,
        firstCell: firstCell - peerCells,
        cellCount: peerCells,
      },
    ];
    this.recentCell = firstCell - Math.round(recentMs / cellMs);
    this.endMs = new Float64Array(firstCell);
    for (const { fromMs, firstCell: first, cellCount } of this.windows)
      for (let cell = 0; cell < cellCount; cell++)
        this.endMs[first + cell] = fromMs + (cell + 1) * cellMs;
  }

  get fromMs(): number {
    return this.windows[0]?.fromMs ?? this.timeMs;
  }

  /** Start of a cell. */
  startMs(cell: number): number {
    return (this.endMs[cell] ?? this.timeMs) - cellMs;
  }

  /** Returns the first cell that starts at most `agoMs` before the time of the explanation, within the recent window. */
  since(agoMs: number): number {
    return Math.max(this.recentCell, this.cellCount - Math.ceil(agoMs / cellMs));
  }
}

/** Aggregation of a cell's samples. */
export type CellValue = "mean" | "last" | "max";
/** Aggregation of several series of one field. */
export type CellCombination = "max" | "min" | "sum";

/**
 * Adds the samples of one series to the cells of a window. Combines them with the values of earlier series (another fan, another
 * reason).
 * @param widthMs width of a cell
 */
export function fillCells(
  cells: Float64Array,
  window: GridWindow,
  { times, values, stale }: SampleColumn,
  value: CellValue,
  combine: CellCombination = "max",
  widthMs = cellMs,
): void {
  let [cell, cellEndMs, sum, count] = [-1, window.fromMs, 0, 0];
  // The loop uses no closure over the sums, because captured numbers are allocated again at each sample.
  for (let at = 0; at < times.length; at++) {
    if (stale?.[at] === 1) continue;
    const timeMs = times[at] as number;
    if (timeMs <= window.fromMs) continue;
    if (timeMs > cellEndMs) {
      closeCell(
        cells,
        window.firstCell + cell,
        value === "mean" ? sum / count : sum,
        count,
        combine,
      );
      cell = Math.ceil((timeMs - window.fromMs) / widthMs) - 1;
      cellEndMs = window.fromMs + (cell + 1) * widthMs;
      [sum, count] = [0, 0];
      if (cell >= window.cellCount) return;
    }
    const one = values[at] as number;
    if (value === "mean") sum += one;
    else if (value === "last" || count === 0) sum = one;
    else sum = Math.max(sum, one);
    count += 1;
  }
  closeCell(cells, window.firstCell + cell, value === "mean" ? sum / count : sum, count, combine);
}

function closeCell(
  cells: Float64Array,
  at: number,
  seen: number,
  count: number,
  combine: CellCombination,
): void {
  if (count === 0) return;
  const before = cells[at] ?? Number.NaN;
  if (Number.isNaN(before)) cells[at] = seen;
  else cells[at] = combine === "sum" ? before + seen : Math[combine](before, seen);
}
