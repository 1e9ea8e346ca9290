/**
 * Newest value, min, max and mean of a line over the current window. Absent readings are skipped and never count as zero. Points
 * are evenly spaced, so that their mean is weighted by time; statistics of the store replace those of the points.
 */
import type { ChartLine, StoredStatistics, StoredStatisticsOf } from "./model.ts";

export interface LineStatistics extends StoredStatistics {
  /** Number of instants with a reading. */
  readonly count: number;
  /** Number of gaps between readings. */
  readonly gaps: number;
}

export interface StatisticsOptions {
  /** True for a range in the past: the last reading counts, however long before the end it was. */
  readonly isPast: boolean;
  readonly stored?: StoredStatisticsOf | undefined;
}

/** The newest sample may not have arrived yet. */
const NEWEST_WITHIN_POINTS = 2;

/** Undefined if there is no reading at all. */
export function statisticsOf(
  line: ChartLine,
  { isPast, stored }: StatisticsOptions,
): LineStatistics | undefined {
  const { values } = line;
  let [min, max, sum, count, gaps, last] = [Infinity, -Infinity, 0, 0, 0, -1];
  values.forEach((value, at) => {
    if (Number.isNaN(value)) return;
    if (last !== -1 && at - last > 1) gaps += 1;
    [min, max, sum, count, last] = [
      Math.min(min, value),
      Math.max(max, value),
      sum + value,
      count + 1,
      at,
    ];
  });
  if (count === 0) return undefined;
  const isRecent = isPast || last >= values.length - NEWEST_WITHIN_POINTS;
  const newest = isRecent ? values[last] : undefined;
  return { newest, min, max, mean: sum / count, ...stored?.(line), count, gaps };
}
