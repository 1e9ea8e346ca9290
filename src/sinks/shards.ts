/** A lot's records as batches to send: unpacked, relabelled, and dealt into lanes so that a series is always in the same one. */
import { decodeWriteRequest } from "../formats/remote-write/decode.ts";
import { encodeWriteRequest } from "../formats/remote-write/encode.ts";
import type { Metadata, SampleBatch } from "../formats/samples/batch.ts";
import { BatchBuilder } from "../formats/samples/builder.ts";
import { wordsOf } from "../formats/samples/by-series.ts";
import { compressSnappy } from "../formats/snappy/compress.ts";
import { decompressSnappy } from "../formats/snappy/decompress.ts";
import type { SpoolRecord } from "../pipeline/spool/segment.ts";
import type { OutgoingLabels } from "./outgoing-labels.ts";

const maxRecordBytes = 512 * 2 ** 20;

const packed = new WeakMap<SampleBatch, Buffer>();

/** What stands in the spool: a request of remote-write 1.0 under snappy. Made once, however many sinks keep it. */
export function packBatch(batch: SampleBatch): Buffer {
  const known = packed.get(batch);
  if (known !== undefined) return known;
  const made = compressSnappy(encodeWriteRequest(batch));
  packed.set(batch, made);
  return made;
}

export interface ShardedBatches {
  readonly lanes: readonly (readonly SampleBatch[])[];
  readonly metadata: readonly Metadata[];
  /** Samples of records that could not be read back. */
  readonly unreadable: number;
}

export function shardRecords(
  records: readonly SpoolRecord[],
  count: number,
  labels: OutgoingLabels,
): ShardedBatches {
  const lanes: SampleBatch[][] = Array.from({ length: count }, () => []);
  const metadata: Metadata[] = [];
  let unreadable = 0;
  for (const { bytes, samples } of records) {
    try {
      const batch = decodeWriteRequest(decompressSnappy(bytes, maxRecordBytes));
      metadata.push(...batch.metadata);
      if (count === 1 && labels.areSame) lanes[0]?.push({ ...batch, metadata: [] });
      else deal(batch, labels, lanes);
    } catch {
      unreadable += samples;
    }
  }
  return { lanes, metadata, unreadable };
}

function deal(batch: SampleBatch, labels: OutgoingLabels, lanes: SampleBatch[][]): void {
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  const builders = lanes.map(() => new BatchBuilder());
  const laneOf = new Int32Array(batch.seriesCount).fill(-1);
  const placeOf = new Uint32Array(batch.seriesCount);
  for (let series = 0; series < batch.seriesCount; series++) {
    const start = batch.labelStarts[series] as number;
    const end = batch.labelEnds[series] as number;
    const block = labels.block(bytes, start, end);
    if (block === undefined) continue;
    const lane = hash(bytes, start, end) % lanes.length;
    laneOf[series] = lane;
    placeOf[series] = builders[lane]?.rawSeries(block, 0, block.length) ?? 0;
  }
  const words = wordsOf(batch);
  for (let at = 0; at < batch.sampleCount; at++) {
    const series = batch.sampleSeries[at] as number;
    const lane = laneOf[series] as number;
    if (lane === -1) continue;
    const [low, high] = [words[at * 2] as number, words[at * 2 + 1] as number];
    builders[lane]?.addBits(placeOf[series] as number, batch.times[at] as number, low, high);
  }
  builders.forEach((builder, lane) => {
    if (builder.sampleCount > 0) lanes[lane]?.push(builder.finish());
  });
}

/** FNV-1a. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c_9dc5;
  for (let at = start; at < end; at++)
    value = Math.imul(value ^ (bytes[at] as number), 0x0100_0193);
  return value >>> 0;
}
