/** The result of a range query as columns on one grid of instants. A missing point is NaN, so that a gap stays a gap. Pure. */

export type Labels = Readonly<Record<string, string>>;

export interface GridSeries {
  readonly labels: Labels;
  /** One per instant of the grid. */
  readonly values: Float64Array;
}

/** Instants `startMs`, `startMs + stepMs`, … `endMs`. */
export interface TimeGrid {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

export interface Matrix extends TimeGrid {
  readonly series: readonly GridSeries[];
  readonly warnings: readonly string[];
}

export const lengthOf = ({ startMs, endMs, stepMs }: TimeGrid): number =>
  Math.floor((endMs - startMs) / stepMs) + 1;

/** The grid of a window, on multiples of the step, so that every refresh has the same instants. */
export function gridOf(fromMs: number, toMs: number, stepMs: number): TimeGrid {
  const startMs = Math.ceil(fromMs / stepMs) * stepMs;
  return { startMs, endMs: Math.max(startMs, Math.floor(toMs / stepMs) * stepMs), stepMs };
}

export function timesOf(grid: TimeGrid): Float64Array {
  return Float64Array.from({ length: lengthOf(grid) }, (_, at) => grid.startMs + at * grid.stepMs);
}

/** Parses numbers in Prometheus's notation. */
export function readNumber(text: string): number {
  if (text === "+Inf" || text === "Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}

interface ApiSeries {
  readonly metric: Labels;
  /** Absent if all samples are native histograms. */
  readonly values?: readonly (readonly [number, string])[];
}

export function matrixOf(
  result: readonly ApiSeries[],
  grid: TimeGrid,
  warnings: readonly string[],
): Matrix {
  const length = lengthOf(grid);
  const series = result.flatMap(({ metric, values }) => {
    if (values === undefined) return [];
    const column = new Float64Array(length).fill(Number.NaN);
    for (const [seconds, text] of values) {
      const at = Math.round((seconds * 1_000 - grid.startMs) / grid.stepMs);
      if (at >= 0 && at < length) column[at] = readNumber(text);
    }
    return [{ labels: metric, values: column }];
  });
  return { ...grid, series, warnings };
}

export const keyOf = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Moves the known result to a new window and overwrites it with the newer one. Steps must be equal. */
export function appendMatrix(known: Matrix, newer: Matrix, grid: TimeGrid): Matrix {
  const length = lengthOf(grid);
  const byKey = new Map<string, { labels: Labels; values: Float64Array }>();
  const lay = (from: Matrix, cover: boolean): void => {
    const offset = Math.round((from.startMs - grid.startMs) / grid.stepMs);
    const [first, last] = [Math.max(0, offset), Math.min(length, offset + lengthOf(from))];
    // The newer response replaces every instant it covers, including those without a value.
    if (cover) for (const { values } of byKey.values()) values.fill(Number.NaN, first, last);
    for (const { labels, values } of from.series) {
      const key = keyOf(labels);
      const column = byKey.get(key)?.values ?? new Float64Array(length).fill(Number.NaN);
      byKey.set(key, { labels, values: column });
      if (first < last) column.set(values.subarray(first - offset, last - offset), first);
    }
  };
  lay(known, false);
  lay(newer, true);
  const series = [...byKey.values()].filter(({ values }) =>
    values.some((value) => !Number.isNaN(value)),
  );
  return { ...grid, series, warnings: newer.warnings };
}
