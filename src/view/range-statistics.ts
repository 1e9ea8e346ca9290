/**
 * What "min", "avg", "max", "now" and "last" mean wherever the page shows them, as PromQL. Pure.
 *
 *   min, max   the lowest and highest sample of the range
 *   avg        weighted by time: the mean over equal slices of the range, each with the mean of its samples. In a slice
 *              without a sample the last value still holds, for at most the look-back of 5 minutes; a gap counts for nothing
 *   now        the newest value, while the range ends at the present
 *   last       the last sample of a range that is over
 */

export const statisticNames = ["min", "avg", "max"] as const;
export type StatisticName = (typeof statisticNames)[number];

/** Enough that a slice is shorter than what changes in a range; each series is evaluated twice per slice. */
const SLICES = 240;

/** A PromQL duration of at least a second. */
const duration = (ms: number): string => `${Math.max(1, Math.round(ms / 1_000))}s`;

/** The statistic of each series of a selector over the range that ends at the query's time. Series lose their name. */
export function statisticQuery(name: StatisticName, selector: string, rangeMs: number): string {
  const over = duration(rangeMs);
  if (name !== "avg") return `${name}_over_time(${selector}[${over}])`;
  const slice = duration(rangeMs / SLICES);
  // Without its name, so that both sides of `or` are one series.
  return `avg_over_time((avg_over_time(${selector}[${slice}]) or (${selector} + 0))[${over}:${slice}])`;
}

/** The last sample of each series in the range, with its name. */
export const lastQuery = (selector: string, rangeMs: number): string =>
  `last_over_time(${selector}[${duration(rangeMs)}])`;
