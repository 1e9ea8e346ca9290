/**
 * Checks histograms in the wire form (spans of consecutive buckets with a count each) with the rules of Prometheus. Every received
 * histogram passes through here; an inconsistent one is rejected with a reason.
 */
import {
  type Buckets,
  customSchema,
  type Histogram,
  isCustom,
  maxSchema,
  minSchema,
  noBounds,
  noBuckets,
  type ResetHint,
  toSchema,
} from "./histogram.ts";

export interface HistogramParts {
  readonly resetHint: ResetHint;
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  /** True if all counts are integers: then they must add up exactly. */
  readonly isInteger: boolean;
  readonly positive: SpannedCounts;
  readonly negative: SpannedCounts;
  readonly bounds: ArrayLike<number>;
}

export interface SpannedCounts {
  /** Pairs: the gap to the previous span (to index 0 for the first), and the number of buckets. */
  readonly spans: ArrayLike<number>;
  /** Absolute counts per bucket, not differences. A Float64Array becomes part of the histogram. */
  readonly counts: ArrayLike<number>;
}

/** Each is a label value of `gpulse_hub_ingest_total`. */
export const histogramFaultReasons = [
  "histogram_schema",
  "histogram_spans",
  "histogram_bounds",
  "histogram_zero_bucket",
  "histogram_negative_count",
  "histogram_count_mismatch",
  "histogram_too_many_buckets",
] as const;
export type HistogramFaultReason = (typeof histogramFaultReasons)[number];

/** The reason for rejecting a histogram. */
export interface HistogramFault {
  readonly reason: HistogramFaultReason;
  /** A sentence for the sender. */
  readonly problem: string;
}

export const isFault = (checked: Histogram | HistogramFault): checked is HistogramFault =>
  "problem" in checked;

/** Finer schemas are reserved for exponential buckets and can be merged into a supported one. */
const maxReservedSchema = 52;
/** More buckets than any client produces. Limits the memory of one histogram. */
export const maxHistogramBuckets = 2 ** 16;
const minIndex = -(2 ** 31) + 1;
const maxIndex = 2 ** 31 - 1;

/**
 * @param bucketLimit 0 for no limit; above it, neighbouring buckets are merged, which custom buckets do not allow
 * @param before a histogram that probably has the same buckets: then its indexes are shared
 */
export function checkHistogram(
  parts: HistogramParts,
  bucketLimit = 0,
  before?: Histogram,
): Histogram | HistogramFault {
  const { schema, count, sum, zeroCount, zeroThreshold } = parts;
  if (!isCustom(parts) && !(schema >= minSchema && schema <= maxReservedSchema))
    return fault(
      "histogram_schema",
      `schema ${schema} is unknown: ${minSchema} to ${maxSchema} and ${customSchema} are supported`,
    );
  const problem =
    (isCustom(parts) ? customFault(parts) : exponentialFault(parts)) ?? countFault(parts);
  if (problem !== undefined) return problem;
  const histogram: Histogram = {
    resetHint: parts.resetHint,
    schema,
    zeroThreshold,
    zeroCount,
    count,
    sum,
    positive: bucketsOf(parts.positive, before?.positive.indexes),
    negative: bucketsOf(parts.negative, before?.negative.indexes),
    bounds: parts.bounds.length === 0 ? noBounds : new Float64Array(parts.bounds),
  };
  const known = schema > maxSchema ? toSchema(histogram, maxSchema) : histogram;
  return bucketLimit > 0 ? withinBuckets(known, bucketLimit) : known;
}

/** Halves the resolution until the number of buckets is within the limit. */
export function withinBuckets(histogram: Histogram, limit: number): Histogram | HistogramFault {
  let reduced = histogram;
  while (reduced.positive.counts.length + reduced.negative.counts.length > limit) {
    if (isCustom(reduced) || reduced.schema <= minSchema)
      return fault(
        "histogram_too_many_buckets",
        `${histogram.positive.counts.length + histogram.negative.counts.length} buckets exceed the limit of ${limit}`,
      );
    reduced = toSchema(reduced, reduced.schema - 1);
  }
  return reduced;
}

const fault = (reason: HistogramFaultReason, problem: string): HistogramFault => ({
  reason,
  problem: `native histogram: ${problem}`,
});

function customFault(parts: HistogramParts): HistogramFault | undefined {
  const { bounds, positive, negative, zeroCount, zeroThreshold } = parts;
  for (let at = 0; at < bounds.length; at++) {
    const bound = bounds[at] as number;
    if (!Number.isFinite(bound)) return fault("histogram_bounds", "custom bounds must be finite");
    if (at > 0 && !((bounds[at - 1] as number) < bound))
      return fault("histogram_bounds", "custom bounds must be in strictly ascending order");
  }
  if (bounds.length > maxHistogramBuckets) return tooMany(bounds.length);
  if (zeroCount !== 0 || zeroThreshold !== 0)
    return fault("histogram_zero_bucket", "custom buckets have no zero bucket");
  if (negative.spans.length > 0 || negative.counts.length > 0)
    return fault("histogram_spans", "custom buckets have no negative side");
  const problem = spansFault(positive, "positive");
  if (problem !== undefined) return problem;
  if ((positive.spans[0] ?? 0) < 0)
    return fault("histogram_spans", "a span of custom buckets begins before the first bucket");
  if (lastIndex(positive) > bounds.length)
    return fault(
      "histogram_bounds",
      `${bounds.length} custom bounds are too few for a bucket at index ${lastIndex(positive)}`,
    );
  return undefined;
}

function exponentialFault(parts: HistogramParts): HistogramFault | undefined {
  if (parts.bounds.length > 0)
    return fault("histogram_bounds", "exponential buckets have no custom bounds");
  if (!(parts.zeroThreshold >= 0 && parts.zeroThreshold < Infinity))
    return fault("histogram_zero_bucket", `zero threshold ${parts.zeroThreshold} is invalid`);
  return spansFault(parts.positive, "positive") ?? spansFault(parts.negative, "negative");
}

const tooMany = (buckets: number): HistogramFault =>
  fault(
    "histogram_too_many_buckets",
    `${buckets} buckets exceed the limit of ${maxHistogramBuckets}`,
  );

/** Checks that the spans are in ascending order without overlap, and that every bucket has a count. */
function spansFault({ spans, counts }: SpannedCounts, side: string): HistogramFault | undefined {
  if (counts.length > maxHistogramBuckets) return tooMany(counts.length);
  let [buckets, index] = [0, 0];
  for (let at = 0; at + 1 < spans.length; at += 2) {
    const [offset, length] = [spans[at] as number, spans[at + 1] as number];
    if (at > 0 && offset < 0)
      return fault("histogram_spans", `${side} span ${at / 2 + 1} overlaps the one before`);
    buckets += length;
    index += offset + length;
    if (index - length < minIndex || index > maxIndex)
      return fault("histogram_spans", `${side} span ${at / 2 + 1} is beyond every bucket`);
  }
  return buckets === counts.length
    ? undefined
    : fault(
        "histogram_spans",
        `${side} spans have ${buckets} buckets, but ${counts.length} counts are given`,
      );
}

function lastIndex({ spans }: SpannedCounts): number {
  let next = 0;
  for (let at = 0; at < spans.length; at++) next += spans[at] as number;
  return next - 1;
}

function countFault(parts: HistogramParts): HistogramFault | undefined {
  const { count, zeroCount, isInteger, positive, negative } = parts;
  if (!(count >= 0)) return fault("histogram_negative_count", `a count of ${count} observations`);
  if (!(zeroCount >= 0))
    return fault("histogram_negative_count", `a count of ${zeroCount} in the zero bucket`);
  let sum = zeroCount;
  for (const { counts } of [positive, negative])
    for (let at = 0; at < counts.length; at++) {
      const one = counts[at] as number;
      if (!(one >= 0))
        return fault("histogram_negative_count", `a bucket counts ${one} observations`);
      sum += one;
    }
  // Sums of fractions are rounded, as are integers beyond 2^53.
  if (!isInteger || count > Number.MAX_SAFE_INTEGER || areAllCounted(parts, sum)) return undefined;
  return fault(
    "histogram_count_mismatch",
    `buckets count ${sum} observations, the histogram ${count}`,
  );
}

/** NaN observations are in no bucket, and make the sum NaN. */
const areAllCounted = (totals: { count: number; sum: number }, inBuckets: number): boolean =>
  Number.isNaN(totals.sum) ? inBuckets <= totals.count : inBuckets === totals.count;

function bucketsOf({ spans, counts }: SpannedCounts, like?: Int32Array): Buckets {
  if (counts.length === 0) return noBuckets;
  return {
    indexes:
      like?.length === counts.length && hasIndexes(spans, like)
        ? like
        : indexesOf(spans, counts.length),
    // Not `Float64Array.from`, which takes twenty times as long.
    counts: counts instanceof Float64Array ? counts : new Float64Array(counts),
  };
}

function indexesOf(spans: ArrayLike<number>, length: number): Int32Array {
  const indexes = new Int32Array(length);
  let [index, place] = [0, 0];
  for (let at = 0; at + 1 < spans.length; at += 2) {
    index += spans[at] as number;
    for (let left = spans[at + 1] as number; left > 0; left--) indexes[place++] = index++;
  }
  return indexes;
}

/** True if the spans, which have as many buckets, have these indexes. */
function hasIndexes(spans: ArrayLike<number>, indexes: Int32Array): boolean {
  let [index, place] = [0, 0];
  for (let at = 0; at + 1 < spans.length; at += 2) {
    index += spans[at] as number;
    for (let left = spans[at + 1] as number; left > 0; left--)
      if (indexes[place++] !== index++) return false;
  }
  return true;
}

/** Returns the spans of the buckets, as pairs of offset and length. */
export function spansOf({ indexes }: Buckets): number[] {
  const spans: number[] = [];
  let next = 0;
  for (const index of indexes) {
    if (spans.length > 0 && index === next) spans[spans.length - 1] = (spans.at(-1) ?? 0) + 1;
    else spans.push(index - next, 1);
    next = index + 1;
  }
  return spans;
}

/**
 * True if every count is an integer and the buckets count what the histogram does. Such a histogram is sent as an integer
 * histogram, every other as a float histogram, which receivers accept as it is.
 */
export function isIntegerHistogram(histogram: Histogram): boolean {
  const { count, zeroCount, positive, negative } = histogram;
  const isWhole = (value: number): boolean => value >= 0 && Number.isSafeInteger(value);
  if (!isWhole(count) || !isWhole(zeroCount)) return false;
  let sum = zeroCount;
  for (const { counts } of [positive, negative])
    for (const one of counts) {
      if (!isWhole(one)) return false;
      sum += one;
    }
  return areAllCounted(histogram, sum);
}
