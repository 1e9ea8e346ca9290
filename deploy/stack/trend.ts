// Whether something grows: a slope that single peaks do not move (Theil and Sen: the median of the slopes between all pairs).

export interface Point {
  /** Hours. */
  readonly x: number;
  readonly y: number;
}

export interface Trend {
  readonly perHour: number;
  /** Over the time that was looked at. */
  readonly total: number;
  readonly median: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Undefined for fewer than four points: they show nothing. */
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

/** The lowest point of each of so many equal parts: what comes and goes with load is above it, a leak lifts it. */
export function floors(points: readonly Point[], parts: number): readonly Point[] {
  const size = Math.max(1, Math.floor(points.length / parts));
  return Array.from({ length: Math.floor(points.length / size) }, (_, part) =>
    points
      .slice(part * size, (part + 1) * size)
      .reduce((lowest, point) => (point.y < lowest.y ? point : lowest)),
  );
}

/** The part after the programs have come to rest. */
export function afterWarmUp(points: readonly Point[], share = 1 / 3): readonly Point[] {
  return points.slice(Math.floor(points.length * share));
}

/**
 * Whether live memory leaks: it rises by more than the limit over the whole time after warm-up, and half as fast still in the
 * later half. A step up to a plateau (a full buffer, a larger batch) is steep in the first alone.
 */
export function leaks(points: readonly Point[], limitPerHour: number): boolean {
  const settled = afterWarmUp(points);
  const [whole, late] = [trendOf(settled), trendOf(afterWarmUp(settled, 1 / 2))];
  if (whole === undefined || late === undefined) return false;
  return whole.perHour > limitPerHour && late.perHour > limitPerHour / 2;
}

/** Growth that is more than a heap's breathing: both in bytes (or files) and as a share of what it takes. */
export function grows(trend: Trend, least: number, share: number): boolean {
  return trend.total > least && trend.total > share * trend.median;
}
