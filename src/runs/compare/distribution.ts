/**
 * Readings weighted by time: means, integrals and percentiles over a time range. A missing reading has no weight, and a gap is
 * never bridged by more than a few usual sample intervals.
 */

export interface WeightedReadings {
  readonly timeMs: Float64Array;
  readonly values: Float64Array;
  /** The seconds that each value covers. */
  readonly seconds: Float64Array;
  /** The share of the range that readings cover. */
  readonly coverage: number;
  /** The number of samples: more than values if a value is the mean of several. */
  readonly readings: number;
}

export interface Distribution {
  readonly min: number;
  readonly p1: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly mean: number;
  /** The number of samples. */
  readonly count: number;
}

/** A distance between readings above this many sample intervals is a gap. */
export const GAP_DISTANCES = 3;

/** Undefined if no reading is in the range. Each reading covers half of the time to its neighbours. */
export function weighReadings(
  timeMs: Float64Array,
  column: Float64Array,
  startMs: number,
  endMs: number,
  samplingMs: number,
  counts?: Float64Array,
): WeightedReadings | undefined {
  const rows: number[] = [];
  for (let row = 0; row < timeMs.length; row += 1) {
    const at = timeMs[row] ?? Number.NaN;
    if (at >= startMs && at <= endMs && !Number.isNaN(column[row] ?? Number.NaN)) rows.push(row);
  }
  if (rows.length === 0) return undefined;
  const times = Float64Array.from(rows, (row) => timeMs[row] ?? 0);
  const values = Float64Array.from(rows, (row) => column[row] ?? 0);
  const farMs = (GAP_DISTANCES * Math.max(samplingMs, usualDistance(times))) / 2;
  const seconds = new Float64Array(values.length);
  let total = 0;
  for (let at = 0; at < values.length; at += 1) {
    const own = times[at] ?? 0;
    const before = at === 0 ? own - startMs : (own - (times[at - 1] ?? own)) / 2;
    const after = at === values.length - 1 ? endMs - own : ((times[at + 1] ?? own) - own) / 2;
    const share = (Math.min(before, farMs) + Math.min(after, farMs)) / 1_000;
    seconds[at] = share;
    total += share;
  }
  // A single instant still has a value.
  if (total === 0) seconds.fill(1);
  const wholeSeconds = (endMs - startMs) / 1_000;
  return {
    timeMs: times,
    values,
    seconds,
    coverage: wholeSeconds > 0 ? Math.min(1, total / wholeSeconds) : 1,
    readings:
      counts === undefined ? rows.length : rows.reduce((sum, row) => sum + (counts[row] ?? 0), 0),
  };
}

/** The median distance between neighbours; 0 with fewer than two. */
export function usualDistance(times: Float64Array): number {
  if (times.length < 2) return 0;
  const distances = times.slice(1).map((time, at) => time - (times[at] ?? time));
  return distances.sort()[Math.floor(distances.length / 2)] ?? 0;
}

export function meanOf({ values, seconds }: WeightedReadings): number {
  let [sum, total] = [0, 0];
  values.forEach((value, at) => {
    sum += value * (seconds[at] ?? 0);
    total += seconds[at] ?? 0;
  });
  return sum / total;
}

/**
 * A percentile is the smallest reading that the GPU was at or below for at least that share of the time: always an actual
 * reading, never an interpolated one.
 */
export function distributionOf(weighted: WeightedReadings): Distribution {
  const { values, seconds } = weighted;
  const order = Array.from(values.keys()).sort((one, other) => value(one) - value(other));
  function value(at: number): number {
    return values[at] ?? 0;
  }
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const at = (share: number): number => {
    let passed = 0;
    for (const index of order) {
      passed += seconds[index] ?? 0;
      if (passed >= share * total * (1 - 1e-12)) return value(index);
    }
    return value(order.at(-1) ?? 0);
  };
  return {
    min: value(order[0] ?? 0),
    p1: at(0.01),
    p50: at(0.5),
    p99: at(0.99),
    max: value(order.at(-1) ?? 0),
    mean: meanOf(weighted),
    count: weighted.readings,
  };
}
