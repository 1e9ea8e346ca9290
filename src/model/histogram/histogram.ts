/**
 * Native histograms: counts of observations in buckets whose bounds follow from a schema or are listed.
 * Values are immutable; every operation returns a new histogram.
 */
import { fractionBounds } from "./bounds.ts";

/** Whether the counter was reset before this sample; `gauge` if counts may go down at any time. */
export type ResetHint = "unknown" | "reset" | "no-reset" | "gauge";

/** Buckets in ascending order of their index, no index twice. */
export interface Buckets {
  readonly indexes: Int32Array;
  readonly counts: Float64Array;
}

export interface Histogram {
  readonly resetHint: ResetHint;
  /** -4 to 8: each power of two is divided into 2^schema buckets. -53: bounds are listed in `bounds`. */
  readonly schema: number;
  /** Observations between -zeroThreshold and zeroThreshold are counted in `zeroCount`. */
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  readonly positive: Buckets;
  readonly negative: Buckets;
  /** Upper bounds of custom buckets, ascending and finite; empty for exponential schemas. */
  readonly bounds: Float64Array;
}

/** One bucket with its bounds. */
export interface Bucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

export const customSchema = -53;
export const minSchema = -4;
export const maxSchema = 8;

export const noBuckets: Buckets = { indexes: new Int32Array(0), counts: new Float64Array(0) };
export const noBounds = new Float64Array(0);

export const isCustom = ({ schema }: Pick<Histogram, "schema">): boolean => schema === customSchema;

/** Returns the bucket's upper bound. Its lower bound is the upper bound of the bucket before it. */
export function boundOf(index: number, schema: number, bounds: Float64Array): number {
  if (schema === customSchema) {
    if (index < 0) return -Infinity;
    return index < bounds.length ? (bounds[index] ?? Infinity) : Infinity;
  }
  // The last finite bucket ends at the largest finite value; infinite values are in the bucket after it.
  if (index * 2 ** -schema === 1024) return Number.MAX_VALUE;
  if (schema <= 0) return 2 ** (index * 2 ** -schema);
  const fraction = fractionBounds[(index & ((1 << schema) - 1)) << (maxSchema - schema)] ?? 0.5;
  return fraction * 2 * 2 ** (index >> schema);
}

export function* positiveBuckets(histogram: Histogram): Generator<Bucket> {
  const { schema, bounds, positive } = histogram;
  for (let at = 0; at < positive.indexes.length; at++) {
    const index = positive.indexes[at] ?? 0;
    yield {
      lower: boundOf(index - 1, schema, bounds),
      upper: boundOf(index, schema, bounds),
      count: positive.counts[at] ?? 0,
    };
  }
}

/** Yields the buckets from the largest values, next to zero, to the smallest. */
export function* negativeBuckets(histogram: Histogram): Generator<Bucket> {
  const { schema, bounds, negative } = histogram;
  for (let at = 0; at < negative.indexes.length; at++) {
    const index = negative.indexes[at] ?? 0;
    yield {
      lower: -boundOf(index, schema, bounds),
      upper: -boundOf(index - 1, schema, bounds),
      count: negative.counts[at] ?? 0,
    };
  }
}

/**
 * Returns every bucket, from the smallest values to the largest. By default the zero bucket is included only if its count is
 * positive: after a subtraction it may be negative. A bucket that overlaps the zero bucket starts at its upper end.
 */
export function allBuckets(
  histogram: Histogram,
  hasZeroBucket = histogram.zeroCount > 0,
): Bucket[] {
  const { zeroThreshold, zeroCount } = histogram;
  const out: Bucket[] = [];
  for (const bucket of negativeBuckets(histogram)) {
    const isCut = bucket.upper < 0 && bucket.upper > -zeroThreshold;
    out.push(isCut ? { ...bucket, upper: -zeroThreshold } : bucket);
  }
  out.reverse();
  if (hasZeroBucket) out.push({ lower: -zeroThreshold, upper: zeroThreshold, count: zeroCount });
  for (const bucket of positiveBuckets(histogram)) {
    const isCut = bucket.lower > 0 && bucket.lower < zeroThreshold;
    out.push(isCut ? { ...bucket, lower: zeroThreshold } : bucket);
  }
  return out;
}

/** Returns which of a bucket's bounds are inclusive. */
export function inclusiveBounds(
  { lower, upper }: Bucket,
  histogram: Histogram,
): { readonly lower: boolean; readonly upper: boolean } {
  if (isCustom(histogram)) return { lower: lower === -Infinity, upper: true };
  if (lower <= 0 && upper >= 0) return { lower: true, upper: true };
  return { lower: lower < 0, upper: upper > 0 };
}

export function equalHistograms(a: Histogram, b: Histogram): boolean {
  return (
    a.schema === b.schema &&
    Object.is(a.sum, b.sum) &&
    a.count === b.count &&
    a.zeroThreshold === b.zeroThreshold &&
    a.zeroCount === b.zeroCount &&
    equalNumbers(a.bounds, b.bounds) &&
    equalBuckets(a.positive, b.positive) &&
    equalBuckets(a.negative, b.negative)
  );
}

export function equalNumbers(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

const equalBuckets = (a: Buckets, b: Buckets): boolean =>
  equalNumbers(a.indexes, b.indexes) && equalNumbers(a.counts, b.counts);

/**
 * The histogram as it is stored. Senders may claim a counter reset or that there was none; as in Prometheus, the samples themselves
 * decide.
 */
export const withoutResetClaim = (histogram: Histogram): Histogram =>
  histogram.resetHint === "reset" || histogram.resetHint === "no-reset"
    ? { ...histogram, resetHint: "unknown" }
    : histogram;

/** Removes empty buckets. */
export function compact(histogram: Histogram): Histogram {
  const positive = withoutEmpty(histogram.positive);
  const negative = withoutEmpty(histogram.negative);
  if (positive === histogram.positive && negative === histogram.negative) return histogram;
  return { ...histogram, positive, negative };
}

function withoutEmpty(buckets: Buckets): Buckets {
  const { indexes, counts } = buckets;
  let used = 0;
  for (let at = 0; at < counts.length; at++) if (counts[at] !== 0) used++;
  if (used === counts.length) return buckets;
  const left = { indexes: new Int32Array(used), counts: new Float64Array(used) };
  for (let at = 0, to = 0; to < used; at++) {
    const count = counts[at] as number;
    if (count === 0) continue;
    left.indexes[to] = indexes[at] as number;
    left.counts[to++] = count;
  }
  return left;
}

/** Converts to a lower schema: each step merges pairs of neighbouring buckets. */
export function toSchema(histogram: Histogram, schema: number): Histogram {
  if (schema === histogram.schema) return histogram;
  const positive = mergedBuckets(histogram.positive, histogram.schema - schema);
  return {
    ...histogram,
    schema,
    positive,
    negative: mergedBuckets(histogram.negative, histogram.schema - schema),
  };
}

function mergedBuckets({ indexes, counts }: Buckets, steps: number): Buckets {
  const merged = new Int32Array(indexes.length);
  const sums = new Float64Array(indexes.length);
  let length = 0;
  for (let at = 0; at < indexes.length; at++) {
    // A shift by 32 or more would wrap around.
    const index = (((indexes[at] ?? 0) - 1) >> Math.min(steps, 31)) + 1;
    if (length === 0 || merged[length - 1] !== index) merged[length++] = index;
    sums[length - 1] = (sums[length - 1] ?? 0) + (counts[at] ?? 0);
  }
  return { indexes: merged.slice(0, length), counts: sums.slice(0, length) };
}
