// Detects growth: a slope that is robust against single peaks (Theil–Sen: the median of the slopes between all pairs).

export interface Point {
  /** Hours. */
  readonly x: number;
  readonly y: number;
}

export interface Trend {
  readonly perHour: number;
  /** Over the observed time. */
  readonly total: number;
  readonly median: number;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Undefined for fewer than four points, which show no trend. */
export function trendOf(points: readonly Point[]): Trend | undefined {
  if (points.length < 4) return undefined;
  const slopes = points.flatMap((left, index) =>
    points
      .slice(index + 1)
      .flatMap((right) => (right.x > left.x ? [(right.y - left.y) / (right.x - left.x)] : [])),
  );
  const perHour = median(slopes);
  const [first, last] = [points[0], points.at(-1)];
  const hours = (last?.x ?? 0) - (first?.x ?? 0);
  return { perHour, total: perHour * hours, median: median(points.map(({ y }) => y)) };
}

/** The lowest point of each of `parts` equal parts: load-dependent memory is above it, a leak raises it. */
export function floors(points: readonly Point[], parts: number): readonly Point[] {
  const size = Math.max(1, Math.floor(points.length / parts));
  return Array.from({ length: Math.floor(points.length / size) }, (_, part) =>
    points
      .slice(part * size, (part + 1) * size)
      .reduce((lowest, point) => (point.y < lowest.y ? point : lowest)),
  );
}

/** The points after warm-up. */
export function afterWarmUp(points: readonly Point[], share = 1 / 3): readonly Point[] {
  return points.slice(Math.floor(points.length * share));
}

/**
 * True if live memory leaks: it grows by more than the limit over the whole time after warm-up, and at least half as fast in the
 * later half. A step up to a plateau (a full buffer, a larger batch) is steep only in the first half.
 */
export function leaks(points: readonly Point[], limitPerHour: number): boolean {
  const settled = afterWarmUp(points);
  const [whole, late] = [trendOf(settled), trendOf(afterWarmUp(settled, 1 / 2))];
  if (whole === undefined || late === undefined) return false;
  return whole.perHour > limitPerHour && late.perHour > limitPerHour / 2;
}

/** True for growth beyond a heap's usual fluctuation: both absolute, in bytes or files, and relative to the median. */
export function grows(trend: Trend, least: number, share: number): boolean {
  return trend.total > least && trend.total > share * trend.median;
}
