/** Converts native histograms to OTLP's: exponential ones with dense buckets, custom buckets as explicit bounds. */
import { isIntegerHistogram } from "../../../model/histogram/check.ts";
import {
  type Buckets,
  type Histogram,
  isCustom,
  minSchema,
  toSchema,
} from "../../../model/histogram/histogram.ts";
import type { ExportExponential, ExportHistogram } from "./model.ts";

/** OTLP writes every bucket between the first and the last: with more than this, buckets are merged. */
const maxDenseBuckets = 2_048;

/** Undefined for fractional counts, which OTLP does not support. */
export function exportedNative(
  histogram: Histogram,
): { exponential: ExportExponential } | { histogram: ExportHistogram } | undefined {
  if (!isIntegerHistogram(histogram)) return undefined;
  return isCustom(histogram)
    ? { histogram: explicit(histogram) }
    : { exponential: exponential(histogram) };
}

function explicit({ count, sum, bounds, positive }: Histogram): ExportHistogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  for (let at = 0; at < positive.indexes.length; at++)
    counts[positive.indexes[at] ?? 0] = positive.counts[at] ?? 0;
  return { count, sum, counts, bounds: [...bounds] };
}

function exponential(given: Histogram): ExportExponential {
  let histogram = given;
  while (
    histogram.schema > minSchema &&
    Math.max(width(histogram.positive), width(histogram.negative)) > maxDenseBuckets
  )
    histogram = toSchema(histogram, histogram.schema - 1);
  const { count, sum, schema, zeroCount, zeroThreshold, positive, negative } = histogram;
  return {
    count,
    sum,
    scale: schema,
    zeroCount,
    zeroThreshold,
    positive: dense(positive),
    negative: dense(negative),
  };
}

const width = ({ indexes }: Buckets): number =>
  indexes.length === 0 ? 0 : (indexes.at(-1) ?? 0) - (indexes[0] ?? 0) + 1;

/** OpenTelemetry's index is one lower, because it refers to the lower bound. */
function dense(buckets: Buckets): { offset: number; counts: readonly number[] } {
  const first = buckets.indexes[0] ?? 1;
  const counts = Array.from({ length: width(buckets) }, () => 0);
  for (let at = 0; at < buckets.indexes.length; at++)
    counts[(buckets.indexes[at] ?? 0) - first] = buckets.counts[at] ?? 0;
  return { offset: first - 1, counts };
}
