/**
 * Writes families of the protobuf exposition (see protobuf.ts), each preceded by its length. Exponential histograms are written as
 * native ones; custom buckets have no field, and are written as classic buckets.
 */
import { type Histogram, isCustom } from "../../model/histogram/histogram.ts";
import type { LabelSet } from "../../model/labels.ts";
import { type HistogramFields, putHistogram } from "../protobuf/put-histogram.ts";
import { ProtoWriter } from "../protobuf/writer.ts";

export const protobufContentType =
  "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

export interface WrittenMetric {
  /** Without `__name__`. */
  readonly labels: LabelSet;
  readonly timeMs: number;
  readonly value: number | Histogram;
}

export const familyTypes = {
  counter: 0,
  gauge: 1,
  untyped: 3,
  histogram: 4,
  gaugehistogram: 5,
} as const;
export type WrittenType = keyof typeof familyTypes;

const histogramFields: HistogramFields = {
  count: 1,
  countFloat: 4,
  sum: 2,
  schema: 5,
  zeroThreshold: 6,
  zeroCount: 7,
  zeroCountFloat: 8,
  negative: { spans: 9, deltas: 10, counts: 11 },
  positive: { spans: 12, deltas: 13, counts: 14 },
};
/** The field of a Metric that holds a number of this type, with its wire type. */
const numberTags = { counter: 0x1a, gauge: 0x12, untyped: 0x2a } as const;

/** All metrics of a family must be numbers, or all histograms. */
export function writeFamily(
  name: string,
  type: WrittenType,
  metrics: readonly WrittenMetric[],
): Buffer {
  const family = new ProtoWriter();
  family.text(0x0a, name);
  family.int(0x18, familyTypes[type]);
  for (const metric of metrics)
    family.message(0x22, () => {
      putLabels(family, metric.labels);
      putValue(family, type, metric.value);
      family.int(0x30, metric.timeMs);
    });
  const message = family.finish();
  const out = new ProtoWriter(message.length + 5);
  out.varint(message.length);
  out.raw(message);
  return out.finish();
}

/** Writes the label fields of a Metric. */
export function putLabels(out: ProtoWriter, labels: LabelSet): void {
  for (const [name, text] of labels)
    out.message(0x0a, () => {
      out.text(0x0a, name);
      out.text(0x12, text);
    });
}

function putValue(out: ProtoWriter, type: WrittenType, value: number | Histogram): void {
  if (typeof value !== "number")
    out.message(0x3a, () => {
      if (isCustom(value)) putClassic(out, value);
      else putNative(out, value);
    });
  else if (type === "histogram" || type === "gaugehistogram")
    throw new Error("BUG: a family of histograms has a number");
  else out.message(numberTags[type], () => out.double(0x09, value));
}

export function putNative(out: ProtoWriter, histogram: Histogram): void {
  putHistogram(out, histogram, histogramFields);
  // An empty span marks the histogram as native if no other field does.
  if (histogram.positive.counts.length === 0) out.message(0x62, () => undefined);
}

function putClassic(out: ProtoWriter, { count, sum, bounds, positive }: Histogram): void {
  out.int(0x08, Math.round(count));
  out.double(0x11, sum);
  let [below, at] = [0, 0];
  bounds.forEach((bound, index) => {
    if (positive.indexes[at] === index) below += positive.counts[at++] ?? 0;
    const cumulative = below;
    out.message(0x1a, () => {
      if (Number.isSafeInteger(cumulative)) out.int(0x08, cumulative);
      else out.double(0x21, cumulative);
      out.double(0x11, bound);
    });
  });
  if (!Number.isSafeInteger(count)) out.double(0x21, count);
}
