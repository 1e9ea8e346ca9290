/** Writes the fields that the histogram messages of remote-write and of the protobuf exposition share (histogram-parts.ts). */
import { isIntegerHistogram, spansOf } from "../../model/histogram/check.ts";
import type { Buckets, Histogram } from "../../model/histogram/histogram.ts";
import type { ProtoWriter } from "./writer.ts";

/** Field numbers. */
export interface HistogramFields {
  readonly count: number;
  readonly countFloat: number;
  readonly sum: number;
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly zeroCountFloat: number;
  readonly negative: BucketFields;
  readonly positive: BucketFields;
}

interface BucketFields {
  readonly spans: number;
  readonly deltas: number;
  readonly counts: number;
}

/** Writes an integer histogram if all counts are integers, otherwise a float histogram. */
export function putHistogram(
  writer: ProtoWriter,
  histogram: Histogram,
  fields: HistogramFields,
): void {
  const isInteger = isIntegerHistogram(histogram);
  const { count, zeroCount, zeroThreshold } = histogram;
  if (isInteger) writer.int(fields.count << 3, count);
  else writer.double((fields.countFloat << 3) | 1, count);
  writer.double((fields.sum << 3) | 1, histogram.sum);
  writer.int(fields.schema << 3, zigzag(histogram.schema));
  writer.double((fields.zeroThreshold << 3) | 1, zeroThreshold);
  if (isInteger) writer.int(fields.zeroCount << 3, zeroCount);
  else writer.double((fields.zeroCountFloat << 3) | 1, zeroCount);
  putBuckets(writer, histogram.negative, fields.negative, isInteger);
  putBuckets(writer, histogram.positive, fields.positive, isInteger);
}

function putBuckets(
  writer: ProtoWriter,
  buckets: Buckets,
  fields: BucketFields,
  isInteger: boolean,
): void {
  if (buckets.counts.length === 0) return;
  const spans = spansOf(buckets);
  for (let at = 0; at < spans.length; at += 2)
    writer.message((fields.spans << 3) | 2, () => {
      writer.int(0x08, zigzag(spans[at] ?? 0));
      writer.int(0x10, spans[at + 1] ?? 0);
    });
  if (!isInteger) return putDoubles(writer, fields.counts, buckets.counts);
  writer.message((fields.deltas << 3) | 2, () => {
    let before = 0;
    for (const count of buckets.counts) {
      writer.varint(zigzag(count - before));
      before = count;
    }
  });
}

export function putDoubles(writer: ProtoWriter, field: number, values: Float64Array): void {
  if (values.length === 0) return;
  writer.bytes(
    (field << 3) | 2,
    new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  );
}

/** Encodes an integer below 2^52: 0, -1, 1, -2 become 0, 1, 2, 3. */
export const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);
