/**
 * The PromQL behind "min", "avg", "max", "now" and "last" on the page. Pure.
 *
 *   min, max   the lowest and highest sample of the range
 *   avg        weighted by time: the mean over equal slices of the range, each with the mean of its samples. In a slice
 *              without a sample the last value still counts, for at most the look-back of 5 minutes; gaps have no weight
 *   now        the newest value, while the range ends at the present
 *   last       the last sample of a range in the past
 *   hour       the mean of an hour on Analytics: the mean over its slices of 5 minutes, also weighted by time, as far back as
 *              raw samples are retained; before, the mean of the samples
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

/** Where 5-minute slices may be gone, the hourly rollups know only the mean of the samples. */
export type HourMean = "by time" | "of samples";

/**
 * The mean of each series over the hour before the evaluation time. Rollups of 5 minutes answer it, so that a week of 2,000 GPUs
 * takes as long as the plain mean of the samples. A slice without a sample has no weight.
 */
export const hourMeanQuery = (selector: string, mean: HourMean): string =>
  mean === "by time"
    ? `avg_over_time(avg_over_time(${selector}[5m])[1h:5m])`
    : `avg_over_time(${selector}[1h])`;

/** The last sample of each series in the range, with its name. */
export const lastQuery = (selector: string, rangeMs: number): string =>
  `last_over_time(${selector}[${duration(rangeMs)}])`;
