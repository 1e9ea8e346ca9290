/**
 * An export as OTLP's protobuf.
 *
 *   ExportMetricsServiceRequest { repeated ResourceMetrics = 1; }
 *   ResourceMetrics { Resource { repeated KeyValue attributes = 1; } = 1; repeated ScopeMetrics = 2; }
 *   ScopeMetrics { InstrumentationScope { string name = 1; string version = 2; } = 1; repeated Metric = 2; }
 *   Metric { string name = 1, description = 2, unit = 3; Gauge = 5; Sum = 7; Histogram = 9; }   each { repeated points = 1; temporality = 2; bool monotonic = 3; }
 *   NumberDataPoint { fixed64 time = 3; double = 4; attributes = 7; uint32 flags = 8; }
 *   ExponentialHistogram = 10 of a Metric; its point { attributes = 1; fixed64 time = 3, count = 4; double sum = 5; sint32 scale = 6;
 *     fixed64 zero_count = 7; Buckets positive = 8, negative = 9; double zero_threshold = 14; }, Buckets { sint32 offset = 1; repeated uint64 counts = 2; }
 *   HistogramDataPoint { fixed64 time = 3, count = 4; double sum = 5; repeated fixed64 counts = 6; repeated double bounds = 7; attributes = 9; uint32 flags = 10; }
 */
import type { LabelSet } from "../../../model/labels.ts";
import { ProtoWriter } from "../../protobuf/writer.ts";
import { zigzag } from "../../protobuf/put-histogram.ts";
import type { ExportExponential, ExportMetric, ExportPoint, ExportResource } from "./model.ts";

const kindTags = { gauge: 0x2a, sum: 0x3a, histogram: 0x4a, exponential: 0x52 } as const;
const cumulative = 2;
/** Flag of a point without a value: the series has ended. */
export const noRecordedValue = 1;

export function encodeOtlp(resources: readonly ExportResource[], version: string): Buffer {
  const out = new ProtoWriter(4_096);
  for (const resource of resources)
    out.message(0x0a, () => {
      out.message(0x0a, () => attributes(out, 0x0a, resource.attributes));
      out.message(0x12, () => {
        out.message(0x0a, () => {
          out.text(0x0a, "gpulse");
          out.text(0x12, version);
        });
        for (const metric of resource.metrics) out.message(0x12, () => encodeMetric(out, metric));
      });
    });
  return out.finish();
}

function encodeMetric(out: ProtoWriter, metric: ExportMetric): void {
  const { name, help, unit, kind, falls, points } = metric;
  out.text(0x0a, name);
  if (help !== "") out.text(0x12, help);
  if (unit !== "") out.text(0x1a, unit);
  out.message(kindTags[kind], () => {
    for (const point of points)
      out.message(0x0a, () => {
        if (point.exponential !== undefined) exponentialPoint(out, point, point.exponential);
        else if (kind === "histogram") histogramPoint(out, point);
        else numberPoint(out, point);
      });
    if (kind !== "gauge") out.int(0x10, cumulative);
    if (kind === "sum" && falls !== true) out.int(0x18, 1);
  });
}

function numberPoint(out: ProtoWriter, point: ExportPoint): void {
  time(out, point.timeMs);
  if (point.value !== undefined) out.double(0x21, point.value);
  attributes(out, 0x3a, point.attributes);
  if (point.value === undefined) out.int(0x40, noRecordedValue);
}

function histogramPoint(
  out: ProtoWriter,
  { timeMs, attributes: own, histogram }: ExportPoint,
): void {
  time(out, timeMs);
  if (histogram === undefined) out.int(0x50, noRecordedValue);
  else {
    out.fixed64(0x21, ...halves(histogram.count));
    if (histogram.sum !== undefined) out.double(0x29, histogram.sum);
    const counts = Buffer.alloc(histogram.counts.length * 8);
    histogram.counts.forEach((count, at) => counts.writeBigUInt64LE(BigInt(count), at * 8));
    out.bytes(0x32, counts);
    const bounds = Buffer.alloc(histogram.bounds.length * 8);
    histogram.bounds.forEach((bound, at) => bounds.writeDoubleLE(bound, at * 8));
    out.bytes(0x3a, bounds);
  }
  attributes(out, 0x4a, own);
}

function exponentialPoint(
  out: ProtoWriter,
  { timeMs, attributes: own }: ExportPoint,
  { count, sum, scale, zeroCount, zeroThreshold, positive, negative }: ExportExponential,
): void {
  attributes(out, 0x0a, own);
  time(out, timeMs);
  out.fixed64(0x21, ...halves(count));
  out.double(0x29, sum);
  out.int(0x30, zigzag(scale));
  out.fixed64(0x39, ...halves(zeroCount));
  for (const [tag, { offset, counts }] of [
    [0x42, positive],
    [0x4a, negative],
  ] as const)
    if (counts.length > 0)
      out.message(tag, () => {
        out.int(0x08, zigzag(offset));
        out.message(0x12, () => {
          for (const each of counts) out.varint(each);
        });
      });
  out.double(0x71, zeroThreshold);
}

function time(out: ProtoWriter, timeMs: number): void {
  const nanoseconds = BigInt.asUintN(64, BigInt(Math.round(timeMs)) * 1_000_000n);
  out.fixed64(0x19, Number(nanoseconds & 0xffff_ffffn), Number(nanoseconds >> 32n));
}

const halves = (value: number): [low: number, high: number] => [
  value % 2 ** 32,
  Math.floor(value / 2 ** 32),
];

function attributes(out: ProtoWriter, tag: number, labels: LabelSet): void {
  for (const [name, value] of labels)
    out.message(tag, () => {
      out.text(0x0a, name);
      out.message(0x12, () => out.text(0x0a, value));
    });
}
