/** Turns spool records into batches to send: decodes and relabels them, and distributes them over shards by series. */
import { decodeWriteRequest } from "../formats/remote-write/decode.ts";
import { encodeWriteRequest } from "../formats/remote-write/encode.ts";
import { copySample, type Metadata, type SampleBatch, wordsOf } from "../formats/samples/batch.ts";
import { BatchBuilder } from "../formats/samples/builder.ts";
import { compressSnappy } from "../formats/snappy/compress.ts";
import { decompressSnappy } from "../formats/snappy/decompress.ts";
import type { SpoolRecord } from "../pipeline/spool/segment.ts";
import type { OutgoingLabels } from "./outgoing-labels.ts";

const maxRecordBytes = 512 * 2 ** 20;

const packed = new WeakMap<SampleBatch, Buffer>();

/** The spool's format: a snappy-compressed remote-write 1.0 request. Encoded once for all sinks. */
export function packBatch(batch: SampleBatch): Buffer {
  const known = packed.get(batch);
  if (known !== undefined) return known;
  const made = compressSnappy(encodeWriteRequest(batch));
  packed.set(batch, made);
  return made;
}

export interface ShardedBatches {
  readonly shards: readonly (readonly SampleBatch[])[];
  readonly metadata: readonly Metadata[];
  /** Number of samples in records that cannot be decoded. */
  readonly unreadable: number;
}

export function shardRecords(
  records: readonly SpoolRecord[],
  count: number,
  labels: OutgoingLabels,
): ShardedBatches {
  const shards: SampleBatch[][] = Array.from({ length: count }, () => []);
  const metadata: Metadata[] = [];
  let unreadable = 0;
  for (const { bytes, samples } of records) {
    try {
      const batch = decodeWriteRequest(decompressSnappy(bytes, maxRecordBytes));
      metadata.push(...batch.metadata);
      if (count === 1 && labels.areSame) shards[0]?.push({ ...batch, metadata: [] });
      else distribute(batch, labels, shards);
    } catch {
      unreadable += samples;
    }
  }
  return { shards, metadata, unreadable };
}

function distribute(batch: SampleBatch, labels: OutgoingLabels, shards: SampleBatch[][]): void {
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  const builders = shards.map(() => new BatchBuilder());
  const shardOf = new Int32Array(batch.seriesCount).fill(-1);
  const placeOf = new Uint32Array(batch.seriesCount);
  for (let series = 0; series < batch.seriesCount; series++) {
    const start = batch.labelStarts[series] as number;
    const end = batch.labelEnds[series] as number;
    const block = labels.block(bytes, start, end);
    if (block === undefined) continue;
    const shard = hash(bytes, start, end) % shards.length;
    shardOf[series] = shard;
    placeOf[series] = builders[shard]?.rawSeries(block, 0, block.length) ?? 0;
  }
  const words = wordsOf(batch);
  for (let at = 0; at < batch.sampleCount; at++) {
    const series = batch.sampleSeries[at] as number;
    const shard = shardOf[series] as number;
    if (shard === -1) continue;
    const builder = builders[shard];
    if (builder !== undefined) copySample(batch, words, at, builder, placeOf[series] as number);
  }
  for (const { series, ...exemplar } of batch.exemplars ?? [])
    builders[shardOf[series] ?? -1]?.addExemplar(placeOf[series] as number, exemplar);
  builders.forEach((builder, shard) => {
    if (builder.sampleCount > 0) shards[shard]?.push(builder.finish());
  });
}

/** FNV-1a. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c_9dc5;
  for (let at = start; at < end; at++)
    value = Math.imul(value ^ (bytes[at] as number), 0x0100_0193);
  return value >>> 0;
}
