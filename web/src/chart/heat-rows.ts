/** Native histograms over time as the rows of a heatmap: one row between every two neighbouring bounds. Pure. */
import { type GridSeries, lengthOf, readNumber, type TimeGrid } from "../query/columns.ts";
import type { ApiHistogramPoint } from "../query/client.ts";

export interface HeatRows {
  /** Ascending; row n lies between bounds n and n + 1. */
  readonly bounds: readonly number[];
  /** Per instant, the count of each row; undefined without a histogram. */
  readonly columns: readonly (Float64Array | undefined)[];
  readonly highest: number;
}

/** All rows have the same height: exponential buckets get a logarithmic scale, and any other bounds fit as well. */
export function heatRows(points: readonly ApiHistogramPoint[], grid: TimeGrid): HeatRows {
  const bounds = [
    ...new Set(
      points.flatMap(([, { buckets = [] }]) =>
        buckets.flatMap(([, lower, upper]) => [lower, upper]),
      ),
    ),
  ]
    .map(readNumber)
    .sort((a, b) => a - b);
  const places = new Map(bounds.map((bound, at) => [bound, at]));
  const columns = Array<Float64Array | undefined>(lengthOf(grid)).fill(undefined);
  let highest = 0;
  for (const [seconds, { buckets = [] }] of points) {
    const at = Math.round((seconds * 1_000 - grid.startMs) / grid.stepMs);
    if (at < 0 || at >= columns.length) continue;
    const rows = new Float64Array(Math.max(0, bounds.length - 1));
    for (const [, lower, upper, count] of buckets) {
      const [from, to] = [places.get(readNumber(lower)) ?? 0, places.get(readNumber(upper)) ?? 0];
      // A bucket of a coarser histogram covers several rows of the finer ones.
      for (let row = from; row < to; row += 1) {
        const value = (rows[row] ?? 0) + readNumber(count) / (to - from);
        rows[row] = value;
        highest = Math.max(highest, value);
      }
    }
    columns[at] = rows;
  }
  return { bounds, columns, highest };
}

/** Converts classic histograms (cumulative buckets with the bound `le`) to the same rows. */
export function bucketRows(series: readonly GridSeries[]): HeatRows {
  const sums = new Map<number, Float64Array>();
  for (const { labels, values } of series) {
    const bound = readNumber(labels["le"] ?? "");
    if (labels["le"] === undefined || Number.isNaN(bound)) continue;
    const sum = sums.get(bound);
    // Several series with the same bound come from several label sets.
    sums.set(bound, sum === undefined ? values : sum.map((value, at) => added(value, values[at])));
  }
  const uppers = [...sums.keys()].sort((a, b) => a - b);
  const [first] = uppers;
  if (first === undefined) return { bounds: [], columns: [], highest: 0 };
  let highest = 0;
  const columns = Array.from({ length: sums.get(first)?.length ?? 0 }, (_, at) => {
    let [before, isThere] = [0, false];
    const rows = Float64Array.from(uppers, (upper) => {
      const upTo = sums.get(upper)?.[at] ?? Number.NaN;
      if (Number.isNaN(upTo)) return 0;
      isThere = true;
      const count = Math.max(0, upTo - before);
      before = Math.max(before, upTo);
      highest = Math.max(highest, count);
      return count;
    });
    return isThere ? rows : undefined;
  });
  return { bounds: [first > 0 ? 0 : Number.NEGATIVE_INFINITY, ...uppers], columns, highest };
}

const added = (one: number, other = Number.NaN): number =>
  Number.isNaN(one) ? other : Number.isNaN(other) ? one : one + other;
