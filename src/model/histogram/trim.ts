/** Removes the observations above or below a value from a native histogram. */
import {
  type Bucket,
  type Buckets,
  compact,
  type Histogram,
  isCustom,
  negativeBuckets,
  positiveBuckets,
} from "./histogram.ts";
import { shareBelow } from "./quantile.ts";

/** The remaining count of a bucket, and the value assumed for its observations. */
interface RemainingCount {
  readonly count: number;
  readonly middle: number;
}

const nothing: RemainingCount = { count: 0, middle: 0 };

/** Count and sum are estimated from the remaining buckets, unless nothing was removed. */
export function trim(histogram: Histogram, at: number, keep: "below" | "above"): Histogram {
  let [count, sum, isChanged] = [0, 0, false];
  const take = (before: number, rest: RemainingCount): number => {
    count += rest.count;
    sum += rest.middle * rest.count;
    isChanged ||= before !== rest.count;
    return rest.count;
  };
  const isLinear = isCustom(histogram);
  const trimmed = (side: Buckets, buckets: Iterable<Bucket>, sign: 1 | -1): Buckets => ({
    indexes: side.indexes,
    counts: Float64Array.from(buckets, (bucket) =>
      bucket.count === 0 ? 0 : take(bucket.count, restOf(bucket, at, keep, sign, isLinear)),
    ),
  });
  const positive = trimmed(histogram.positive, positiveBuckets(histogram), 1);
  const negative = trimmed(histogram.negative, negativeBuckets(histogram), -1);
  const { zeroCount: zeros } = histogram;
  const zeroCount = zeros > 0 ? take(zeros, restOfZero(histogram, at, keep)) : zeros;
  return isChanged
    ? compact({ ...histogram, positive, negative, zeroCount, count, sum })
    : histogram;
}

function restOf(
  bucket: Bucket,
  at: number,
  keep: "below" | "above",
  sign: 1 | -1,
  isLinear: boolean,
): RemainingCount {
  const { lower, upper, count } = bucket;
  const isBelow = keep === "below";
  if (isBelow ? upper <= at : lower >= at)
    return { count, middle: middleOf(lower, upper, sign, isLinear) };
  // Also returned for NaN, because no comparison with NaN is true.
  if (!(isBelow ? lower < at : upper > at)) return nothing;
  if (lower === -Infinity || upper === Infinity) return restOfOpen(bucket, at, isBelow);
  const below = count * shareBelow(at, lower, upper, isLinear);
  return isBelow
    ? { count: below, middle: middleOf(lower, at, sign, isLinear) }
    : { count: count - below, middle: middleOf(at, upper, sign, isLinear) };
}

/** Cuts a bucket without one of its bounds in two. The distribution in it is unknown, except between 0 and a positive bound. */
function restOfOpen({ lower, upper, count }: Bucket, at: number, isBelow: boolean): RemainingCount {
  // No lower bound; the cut is below the upper one.
  if (lower === -Infinity) {
    if (isBelow) {
      if (at > 0 && upper !== Infinity) return { count: (count * at) / upper, middle: at / 2 };
      return upper <= 0 ? { count, middle: at } : nothing;
    }
    return at >= 0 && upper !== Infinity
      ? { count: count * (1 - at / upper), middle: (at + upper) / 2 }
      : nothing;
  }
  // No upper bound; the cut is above the lower one.
  return isBelow ? nothing : { count, middle: at };
}

function restOfZero(histogram: Histogram, at: number, keep: "below" | "above"): RemainingCount {
  const { zeroThreshold, zeroCount, positive, negative } = histogram;
  const isUsed = ({ counts }: Buckets): boolean => counts.some((count) => count !== 0);
  const lower = isUsed(positive) && !isUsed(negative) ? 0 : -zeroThreshold;
  const upper = isUsed(negative) && !isUsed(positive) ? 0 : zeroThreshold;
  const [from, to] = keep === "below" ? [lower, Math.min(at, upper)] : [Math.max(at, lower), upper];
  if (keep === "below" ? at <= lower : at >= upper && at > lower) return nothing;
  const isWhole = from === lower && to === upper;
  return {
    count: isWhole ? zeroCount : (zeroCount * (to - from)) / (upper - lower),
    middle: (from + to) / 2,
  };
}

function middleOf(lower: number, upper: number, sign: 1 | -1, isLinear: boolean): number {
  if (lower === -Infinity) return upper === Infinity ? 0 : upper > 0 ? upper / 2 : upper;
  if (upper === Infinity) return lower;
  return isLinear ? (lower + upper) / 2 : sign * Math.sqrt(Math.abs(lower * upper));
}
