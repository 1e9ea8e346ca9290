/** Turns points into SVG path data. A gap in the data is a gap in the line. */

export interface SparkGeometry {
  readonly width: number;
  readonly height: number;
  /** The values at the bottom and the top edge. */
  readonly min: number;
  readonly max: number;
  /** The second of the last point, so that buckets keep their position while the window moves. */
  readonly endSecond: number;
}

/** The hub sends a frame every 0.8 to 1.3 s, so that a second may be skipped without a missing frame. */
const JOINED_SECONDS = 2;

interface Dot {
  readonly second: number;
  readonly value: number;
}

export function linePath(points: readonly (number | null)[], plot: SparkGeometry): string {
  const perBucket = Math.max(1, Math.ceil(points.length / plot.width));
  const dots = bucketed(points, perBucket, plot.endSecond);
  const span = Math.max(1, points.length - 1);
  const height = plot.max > plot.min ? plot.max - plot.min : 1;
  const x = (second: number): string => short(plot.width * (1 - (plot.endSecond - second) / span));
  const y = (value: number): string =>
    short(plot.height * (1 - Math.min(1, Math.max(0, (value - plot.min) / height))));
  let path = "";
  let before: number | undefined;
  for (const { second, value } of dots) {
    const joined = before !== undefined && second - before <= perBucket + JOINED_SECONDS;
    path += `${joined ? "L" : "M"}${x(second)} ${y(value)}`;
    before = second;
  }
  return path;
}

/** Means over spans of whole seconds that start at multiples of the span: aligned to the clock, the line does not flicker. */
function bucketed(points: readonly (number | null)[], perBucket: number, endSecond: number): Dot[] {
  const dots: Dot[] = [];
  let [bucket, sum, count, last] = [Number.NaN, 0, 0, 0];
  const flush = (): void => {
    if (count > 0) dots.push({ second: last, value: sum / count });
    [sum, count] = [0, 0];
  };
  points.forEach((value, at) => {
    const second = endSecond - points.length + 1 + at;
    const now = Math.floor(second / perBucket);
    if (now !== bucket) flush();
    bucket = now;
    if (value === null) return;
    [sum, count, last] = [sum + value, count + 1, second];
  });
  flush();
  return dots;
}

const short = (value: number): string => String(Math.round(value * 10) / 10);

export interface SparkSummary {
  readonly now: number | null;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
}

/** Undefined without points. */
export function summarizePoints(points: readonly (number | null)[]): SparkSummary | undefined {
  const known = points.filter((value) => value !== null);
  if (known.length === 0) return undefined;
  return {
    now: points.at(-1) ?? null,
    min: Math.min(...known),
    max: Math.max(...known),
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
  };
}
