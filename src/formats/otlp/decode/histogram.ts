/**
 * Converts OTLP histograms to native ones, as Prometheus does: exponential buckets keep their bounds under an index that is one
 * higher, explicit buckets become custom ones.
 */
import { checkHistogram, type HistogramFault } from "../../../model/histogram/check.ts";
import { customSchema, type Histogram } from "../../../model/histogram/histogram.ts";
import type { ExponentialBuckets, ExponentialPoint, OtlpPoint } from "./model.ts";

/** Used if the sender reports none: OpenTelemetry's zero bucket holds observations of exactly 0. */
const defaultZeroThreshold = 1e-128;
const none = { spans: [], counts: [] };

export function exponentialHistogram(
  { count, sum }: OtlpPoint,
  { scale, zeroCount, zeroThreshold, positive, negative }: ExponentialPoint,
  bucketLimit: number,
): Histogram | HistogramFault {
  return checkHistogram(
    {
      resetHint: "unknown",
      schema: scale,
      zeroThreshold: zeroThreshold || defaultZeroThreshold,
      zeroCount,
      count,
      sum: sum ?? 0,
      isInteger: true,
      positive: spanned(positive),
      negative: spanned(negative),
      bounds: [],
    },
    bucketLimit,
  );
}

const spanned = ({ offset, counts }: ExponentialBuckets) =>
  counts.length === 0 ? none : { spans: [offset + 1, counts.length], counts };

export function customHistogram(
  { count, sum, bounds, bucketCounts }: OtlpPoint,
  bucketLimit: number,
): Histogram | HistogramFault {
  return checkHistogram(
    {
      resetHint: "unknown",
      schema: customSchema,
      zeroThreshold: 0,
      zeroCount: 0,
      count,
      sum: sum ?? 0,
      isInteger: true,
      positive: { spans: [0, bucketCounts.length], counts: bucketCounts },
      negative: none,
      bounds,
    },
    bucketLimit,
  );
}
