/**
 * The PromQL behind "min", "avg", "max", "now" and "last" on the page. Pure.
 *
 *   min, max   the lowest and highest sample of the range
 *   avg        weighted by time: the mean over equal slices of the range, each with the mean of its samples. In a slice
 *              without a sample the last value still counts, for at most the look-back of 5 minutes; gaps have no weight
 *   now        the newest value, while the range ends at the present
 *   last       the last sample of a range in the past
 */

export const statisticNames = ["min", "avg", "max"] as const;
export type StatisticName = (typeof statisticNames)[number];

/** Enough that a slice is shorter than the changes within a range; each series is evaluated twice per slice. */
const SLICES = 240;

/** A PromQL duration of at least a second. */
const duration = (ms: number): string => `${Math.max(1, Math.round(ms / 1_000))}s`;

/** The statistic of each series of a selector over the range that ends at the query's time. The result has no metric name. */
export function statisticQuery(name: StatisticName, selector: string, rangeMs: number): string {
  const over = duration(rangeMs);
  if (name !== "avg") return `${name}_over_time(${selector}[${over}])`;
  const slice = duration(rangeMs / SLICES);
  // Without the metric name, so that both sides of `or` are one series.
  return `avg_over_time((avg_over_time(${selector}[${slice}]) or (${selector} + 0))[${over}:${slice}])`;
}

/** The last sample of each series in the range, with its name. */
export const lastQuery = (selector: string, rangeMs: number): string =>
  `last_over_time(${selector}[${duration(rangeMs)}])`;
