/** Quantiles, fractions and variance of a native histogram. */
import { allBuckets, type Bucket, type Histogram, isCustom } from "./histogram.ts";

/** The effect of NaN observations, which are in no bucket, on a result. */
export type NaNEffect = "result is NaN" | "skewed higher" | "excluded";

export interface Estimate {
  readonly value: number;
  readonly nan?: NaNEffect | undefined;
}

export function quantile(q: number, histogram: Histogram): Estimate {
  const { count: total, sum } = histogram;
  if (q < 0) return { value: -Infinity };
  if (q > 1) return { value: Infinity };
  if (total === 0 || Number.isNaN(q)) return { value: Number.NaN };
  const mayHoldNaN = Number.isNaN(sum);
  // The rank is counted from the nearer end. NaN counts as the largest value, so that histograms with NaN are counted from the
  // start.
  const isForward = mayHoldNaN || q < 0.5;
  const buckets = allBuckets(histogram);
  if (!isForward) buckets.reverse();
  let rank = (isForward ? q : 1 - q) * total;
  let passed = 0;
  let at = 0;
  let found: Bucket = { lower: 0, upper: 0, count: 0 };
  while (at < buckets.length) {
    found = buckets[at++] ?? found;
    passed += found.count;
    if (found.count !== 0 && passed >= rank) break;
  }
  let { lower, upper } = found;
  if (isCustom(histogram)) {
    if (lower === -Infinity) {
      if (upper <= 0) return { value: upper };
      lower = 0;
    } else if (upper === Infinity) return { value: lower };
  } else if (lower < 0 && upper > 0) ({ lower, upper } = zeroBounds(found, histogram));
  passed = Math.min(passed, total);
  if (passed < rank) {
    return mayHoldNaN ? { value: Number.NaN, nan: "result is NaN" } : { value: upper };
  }
  rank = isForward ? rank - (passed - found.count) : passed - rank;
  let nan: NaNEffect | undefined;
  if (mayHoldNaN) {
    let counted = passed;
    for (const bucket of buckets.slice(at)) {
      counted += bucket.count;
      // Prometheus interpolates in the last bucket here; matching its result matters more than a better estimate.
      found = bucket;
      ({ lower, upper } = bucket);
    }
    if (counted < total) nan = "skewed higher";
  }
  const share = rank / found.count;
  if (isCustom(histogram) || (lower <= 0 && upper >= 0))
    return { value: lower + (upper - lower) * share, nan };
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  const value =
    lower > 0
      ? 2 ** (logLower + (logUpper - logLower) * share)
      : -(2 ** (logUpper + (logLower - logUpper) * (1 - share)));
  return { value, nan };
}

/** If a histogram has buckets on one side only, its zero bucket ends at 0 on the other side. */
function zeroBounds(
  { lower, upper }: Bucket,
  { positive, negative }: Histogram,
): { lower: number; upper: number } {
  const hasPositive = positive.indexes.length > 0;
  const hasNegative = negative.indexes.length > 0;
  if (hasPositive && !hasNegative) return { lower: 0, upper };
  if (hasNegative && !hasPositive) return { lower, upper: 0 };
  return { lower, upper };
}

/** Returns the share of observations between two values. */
export function fraction(from: number, to: number, histogram: Histogram): Estimate {
  const { count: total, sum } = histogram;
  if (total === 0 || Number.isNaN(from) || Number.isNaN(to)) return { value: Number.NaN };
  if (from >= to) return { value: 0 };
  const buckets = allBuckets(histogram);
  let counted = total;
  let nan: NaNEffect | undefined;
  if (Number.isNaN(sum)) {
    counted = buckets.reduce((all, { count }) => all + count, 0);
    if (counted < total) nan = "excluded";
  }
  const below = (value: number): number => Math.min(rankOf(value, buckets, histogram), counted);
  return { value: (below(to) - below(from)) / total, nan };
}

/** Returns the number of observations below the value. */
function rankOf(value: number, buckets: readonly Bucket[], histogram: Histogram): number {
  let rank = 0;
  for (const bucket of buckets) {
    const isZero = bucket.lower <= 0 && bucket.upper >= 0;
    const { lower, upper } = isZero ? zeroBounds(bucket, histogram) : bucket;
    if (lower >= value) return rank;
    if (upper > value) {
      const isLinear = isCustom(histogram) || isZero;
      // The distribution inside a bucket without a lower bound is unknown.
      if (isLinear && lower === -Infinity) return bucket.count;
      return rank + bucket.count * shareBelow(value, lower, upper, isLinear);
    }
    rank += bucket.count;
  }
  return Infinity;
}

/** Share of a bucket's width below a value inside it, on a linear or a logarithmic scale. */
export function shareBelow(value: number, lower: number, upper: number, isLinear: boolean): number {
  if (isLinear) return (value - lower) / (upper - lower);
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  const log = Math.log2(Math.abs(value));
  return value > 0
    ? (log - logLower) / (logUpper - logLower)
    : 1 - (log - logUpper) / (logLower - logUpper);
}

/** Assumes that every observation lies in the middle of its bucket. */
export function variance(histogram: Histogram): number {
  const mean = histogram.sum / histogram.count;
  let total = 0;
  let lost = 0;
  for (const { lower, upper, count } of allBuckets(histogram)) {
    if (count === 0) continue;
    const delta = middleOf(lower, upper, histogram) - mean;
    const term = count * delta * delta;
    const next = total + term;
    if (Number.isFinite(next))
      lost += Math.abs(total) >= Math.abs(term) ? total - next + term : term - next + total;
    total = next;
  }
  return (total + lost) / histogram.count;
}

function middleOf(lower: number, upper: number, histogram: Histogram): number {
  if (isCustom(histogram)) return (lower + upper) / 2;
  if (lower <= 0 && upper >= 0) return 0;
  return Math.sign(upper) * Math.sqrt(lower * upper);
}
