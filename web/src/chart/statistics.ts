/** Now, least, most and mean of a line over the window in sight. Absent readings count for nothing, never for zero. */

export interface LineStatistics {
  /** Undefined where the newest instants hold no reading. */
  readonly now: number | undefined;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Instants with a reading. */
  readonly count: number;
  /** Stretches without a reading between readings. */
  readonly gaps: number;
}

/** The newest sample may be on its way still. */
const NOW_WITHIN_POINTS = 2;

/** Undefined where there is no reading at all. */
export function statisticsOf(values: Float64Array): LineStatistics | undefined {
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
  const recent = last >= values.length - NOW_WITHIN_POINTS;
  return { now: recent ? values[last] : undefined, min, max, mean: sum / count, count, gaps };
}
