/** Finds the change of one series within a range, if any: a new level, counted events, or readings that ended or began. Pure. */
import {
  findDeparture,
  leastHistoryCells,
  leastSigmas,
  type DepartureLevel,
  levelOf,
} from "./departure.ts";
import type { ChangeGrid } from "./grid.ts";
import { firstKnown, lastKnown, ratesOf, type SeriesCells } from "./series-table.ts";
import type { SeriesChange } from "./report.ts";
import { rateUnit, sigmaFloor } from "./watched-series.ts";

export interface JudgedChange {
  readonly series: SeriesCells;
  readonly kind: SeriesChange["kind"];
  readonly unit: string;
  /** Values for the chart: the rate of a counter, or its count if it counts events. */
  readonly cells: Float64Array;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly sigmas: number | undefined;
  readonly level: DepartureLevel | undefined;
  readonly firstCell: number;
  readonly endCell: number;
}

/** A counter that grew by more than this in the history is treated as a rate; otherwise it counts events. */
const mostEvents = 20;
const leastGapCells = 3;
const gapTimes = 3;

/**
 * @param deviceCells the first and the newest cell in which anything of its device was read
 * @returns "unjudged" if there is too little history
 */
export function judgeSeries(
  series: SeriesCells,
  grid: ChangeGrid,
  deviceCells: readonly [first: number, last: number],
): JudgedChange | "unjudged" | undefined {
  const { metric, cells } = series;
  const { rangeCell, cellCount, stepMs } = grid;
  const wasThere = deviceCells[0] <= rangeCell - leastHistoryCells;
  if (firstKnown(cells, 0, cellCount) < 0) return undefined;
  if (metric.meaning === "presence") return judgePresence(series, grid, wasThere);
  const stopped = judgeStopped(series, grid);
  if (stopped !== undefined) return stopped;
  if (metric.meaning === "counter") {
    const seen = firstKnown(cells, 0, rangeCell);
    const last = lastKnown(cells, 0, rangeCell);
    const growth = seen < 0 ? 0 : (cells[last] as number) - (cells[seen] as number);
    if (metric.unit === "none" && growth >= 0 && growth <= mostEvents)
      return judgeEvents(series, grid, wasThere);
    return judgeLevel(series, ratesOf(cells, stepMs), rateUnit(metric.unit), grid);
  }
  return judgeLevel(series, cells, metric.unit, grid);
}

function judgeLevel(
  series: SeriesCells,
  cells: Float64Array,
  unit: string,
  { rangeCell }: ChangeGrid,
): JudgedChange | "unjudged" | undefined {
  const { resolution } = series.metric;
  const level = levelOf(cells, rangeCell, (middle) => sigmaFloor(unit, resolution, middle));
  if (level === undefined) return "unjudged";
  const found = findDeparture(cells, rangeCell, level);
  if (found === undefined) return undefined;
  const { before, after, sigmas, firstCell, endCell } = found;
  return { series, kind: "moved", unit, cells, before, after, sigmas, level, firstCell, endCell };
}

/** Compares the events of the range with those of an equally long time before it. */
function judgeEvents(
  series: SeriesCells,
  { rangeCell, cellCount }: ChangeGrid,
  wasThere: boolean,
): JudgedChange | "unjudged" | undefined {
  const { cells } = series;
  const newest = lastKnown(cells, rangeCell, cellCount);
  if (newest < 0) return undefined;
  const last = lastKnown(cells, 0, rangeCell);
  // A counter series begins with its first event. For a device that did not report before, the earlier count is unknown.
  if (last < 0 && !wasThere) return "unjudged";
  const start = last < 0 ? 0 : (cells[last] as number);
  const grown = (cells[newest] as number) - start;
  const from = Math.max(0, rangeCell - (cellCount - rangeCell));
  const earlier =
    lastKnown(cells, 0, from) < 0 ? firstKnown(cells, 0, rangeCell) : lastKnown(cells, 0, from);
  const before =
    last < 0 || earlier < 0 ? undefined : (cells[last] as number) - (cells[earlier] as number);
  if (grown <= 2 * Math.max(0, before ?? 0)) return undefined;
  let firstCell = rangeCell;
  while (firstCell < newest && !((cells[firstCell] as number) > start)) firstCell += 1;
  return {
    series,
    kind: "grew",
    unit: series.metric.unit,
    cells,
    before,
    after: grown,
    sigmas: undefined,
    level: undefined,
    firstCell,
    endCell: newest + 1,
  };
}

/** Finds a job that started or ended on the GPU. */
function judgePresence(
  series: SeriesCells,
  grid: ChangeGrid,
  wasThere: boolean,
): JudgedChange | undefined {
  const { cells } = series;
  const { rangeCell, cellCount } = grid;
  const first = firstKnown(cells, 0, cellCount);
  const base = { series, unit: "none", cells, sigmas: undefined, level: undefined } as const;
  if (first >= rangeCell && wasThere)
    return {
      ...base,
      kind: "began",
      before: undefined,
      after: 1,
      firstCell: first,
      endCell: cellCount,
    };
  return judgeStopped(series, grid);
}

/** Finds readings that end within the range: a gap at its end, longer than any gap before. */
function judgeStopped(
  series: SeriesCells,
  { rangeCell, cellCount }: ChangeGrid,
): JudgedChange | undefined {
  const { cells, metric } = series;
  const newest = lastKnown(cells, 0, cellCount);
  const seen = firstKnown(cells, 0, rangeCell);
  if (seen < 0 || newest < 0) return undefined;
  let [widest, before] = [1, seen];
  for (let cell = seen; cell <= newest; cell++) {
    if (Number.isNaN(cells[cell])) continue;
    widest = Math.max(widest, cell - before);
    before = cell;
  }
  const gap = cellCount - 1 - newest;
  // The readings ended before the range.
  if (newest < rangeCell - widest || gap < Math.max(leastGapCells, gapTimes * widest))
    return undefined;
  return {
    series,
    kind: "stopped",
    unit: metric.meaning === "counter" ? rateUnit(metric.unit) : metric.unit,
    cells,
    before: cells[newest] as number,
    after: undefined,
    sigmas: undefined,
    level: undefined,
    firstCell: Math.max(rangeCell, newest + 1),
    endCell: cellCount,
  };
}

/** Returns the spans of cells [from, to) whose values exceed the threshold for a change. */
export function anomalousSpans(
  { cells, level, kind, firstCell, endCell }: JudgedChange,
  rangeCell: number,
): readonly (readonly [from: number, to: number])[] {
  if (level === undefined) return kind === "began" ? [] : [[firstCell, endCell]];
  const spans: [number, number][] = [];
  for (let cell = rangeCell; cell < cells.length; cell++) {
    const far = Math.abs((cells[cell] as number) - level.middle) >= leastSigmas * level.sigma;
    if (!far) continue;
    const open = spans.at(-1);
    // A cell without a reading does not end the span.
    if (open !== undefined && lastKnown(cells, open[1], cell) < 0) open[1] = cell + 1;
    else spans.push([cell, cell + 1]);
  }
  return spans;
}
