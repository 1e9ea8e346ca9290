/**
 * Encodes a batch as a remote-write 1.0 request (see decode.ts for the format): label blocks are copied unchanged, samples follow
 * their series in their original order. Series without samples are left out.
 */
import { ProtoWriter, putInt64, varintBytes } from "../protobuf/writer.ts";
import {
  type Metadata,
  type SampleBatch,
  groupBySeries,
  type SeriesGrouping,
  wordsOf,
} from "../samples/batch.ts";
import { metricTypes } from "./decode-parts.ts";
import { attachedFields, type AttachedFieldTags } from "./encode-attached.ts";

const seriesTag = 0x0a;
const sampleTag = 0x12;
const valueTag = 0x09;
const timeTag = 0x10;
const metadataTag = 0x1a;

export function encodeWriteRequest(batch: SampleBatch): Buffer {
  const grouping = groupBySeries(batch);
  const attached = attachedFields(batch, grouping, attachedTags);
  const samples = attached?.floats ?? grouping;
  const metadata = encodeMetadata(batch.metadata);
  const { bytes, labelStarts, labelEnds, seriesCount } = batch;
  let size = sizeOf(batch, samples) + metadata.length;
  if (attached !== undefined)
    for (let series = 0; series < seriesCount; series++) size += attached.of(series).length;
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  const { order, starts } = samples;
  for (let series = 0; series < seriesCount; series++) {
    const [first, end] = [starts[series] as number, starts[series + 1] as number];
    const others = attached?.of(series);
    const otherBytes = others?.length ?? 0;
    if (first === end && otherBytes === 0) continue;
    const [from, to] = [labelStarts[series] as number, labelEnds[series] as number];
    out[at++] = seriesTag;
    at = putInt64(out, at, to - from + samplesBytes(batch, order, first, end) + otherBytes);
    out.set(bytes.subarray(from, to), at);
    at = encodeSamples(batch, order, first, end, out, at + to - from);
    if (others !== undefined) out.set(others, at);
    at += otherBytes;
  }
  out.set(metadata, at);
  return out.subarray(0, at + metadata.length);
}

const attachedTags: AttachedFieldTags = {
  exemplar: 0x1a,
  histogram: 0x22,
  hasStarts: false,
  putLabels: (writer, labels) => {
    for (const [name, value] of labels)
      writer.message(0x0a, () => {
        writer.text(0x0a, name);
        writer.text(0x12, value);
      });
  },
};

/** Writes the samples of one series, each in its own field of a TimeSeries; the same in 1.0 and 2.0. Returns their end. */
export function encodeSamples(
  batch: SampleBatch,
  order: Uint32Array,
  first: number,
  end: number,
  out: Buffer,
  start: number,
): number {
  const words = wordsOf(batch);
  let at = start;
  for (let i = first; i < end; i++) {
    const sample = order[i] as number;
    const timeMs = batch.times[sample] as number;
    out[at++] = sampleTag;
    out[at++] = 10 + varintBytes(timeMs);
    out[at++] = valueTag;
    at = out.writeUInt32LE(words[sample * 2] as number, at);
    at = out.writeUInt32LE(words[sample * 2 + 1] as number, at);
    out[at++] = timeTag;
    at = putInt64(out, at, timeMs);
  }
  return at;
}

export function samplesBytes(
  { times }: SampleBatch,
  order: Uint32Array,
  first: number,
  end: number,
): number {
  let bytes = 0;
  for (let i = first; i < end; i++) bytes += 12 + varintBytes(times[order[i] as number] as number);
  return bytes;
}

/** An upper bound: a length takes at most five bytes. */
function sizeOf(batch: SampleBatch, { order }: SeriesGrouping): number {
  return batch.bytes.length + batch.seriesCount * 6 + samplesBytes(batch, order, 0, order.length);
}

function encodeMetadata(metadata: readonly Metadata[]): Buffer {
  const writer = new ProtoWriter(metadata.length === 0 ? 0 : 1_024);
  for (const { family, type, help, unit } of metadata)
    writer.message(metadataTag, () => {
      writer.int(0x08, Math.max(0, metricTypes.indexOf(type)));
      writer.text(0x12, family);
      if (help !== "") writer.text(0x22, help);
      if (unit !== "") writer.text(0x2a, unit);
    });
  return writer.finish();
}
