/**
 * A decoded batch in shared memory, between a decode worker and the hub's thread: nothing is copied on the hub's side. The
 * request's body comes first; the batch's columns follow, each aligned to eight bytes.
 */
import { type SampleBatch, wordsOf } from "../../../formats/samples/batch.ts";
import { hashWords, type LabelHasher } from "../../../formats/samples/label-hash.ts";
import { type PackedHistograms, packHistograms, unpackHistograms } from "./packed-histograms.ts";

/** The message about a batch whose columns are in shared memory. */
export interface SharedBatch extends Pick<
  SampleBatch,
  | "seriesCount"
  | "sampleCount"
  | "exemplars"
  | "starts"
  | "metadata"
  | "refusedHistograms"
  | "droppedExemplars"
> {
  readonly packed: PackedHistograms | undefined;
  /** Offsets of the columns and of the labels' bytes. */
  readonly columnsAt: number;
  readonly bytesAt: number;
  readonly bytesLength: number;
}

const aligned = (at: number): number => Math.ceil(at / 8) * 8;

interface ColumnPlaces {
  readonly times: number;
  readonly values: number;
  readonly sampleSeries: number;
  readonly labelStarts: number;
  readonly labelEnds: number;
  readonly labelHashes: number;
  readonly end: number;
}

function placesOf(columnsAt: number, seriesCount: number, sampleCount: number): ColumnPlaces {
  const times = columnsAt;
  const values = times + sampleCount * 8;
  const sampleSeries = values + sampleCount * 8;
  const labelStarts = aligned(sampleSeries + sampleCount * 4);
  const labelEnds = labelStarts + seriesCount * 4;
  const labelHashes = labelEnds + seriesCount * 4;
  const end = labelHashes + seriesCount * hashWords * 4;
  return { times, values, sampleSeries, labelStarts, labelEnds, labelHashes, end };
}

/**
 * Copies the batch to the memory after `from`, with the hashes of its labels; label bytes already in this memory stay in place.
 * Returns undefined if there is not enough room.
 */
export function writeShared(
  batch: SampleBatch,
  memory: SharedArrayBuffer,
  from: number,
  hasher: LabelHasher,
): SharedBatch | undefined {
  const { bytes, seriesCount, sampleCount, labelStarts, labelEnds } = batch;
  const isInPlace = bytes.buffer === memory;
  const columnsAt = aligned(isInPlace ? Math.max(from, bytes.byteOffset + bytes.length) : from);
  const places = placesOf(columnsAt, seriesCount, sampleCount);
  const bytesAt = isInPlace ? bytes.byteOffset : places.end;
  if ((isInPlace ? places.end : bytesAt + bytes.length) > memory.byteLength) return undefined;
  if (!isInPlace) new Uint8Array(memory, bytesAt, bytes.length).set(bytes);
  new Float64Array(memory, places.times, sampleCount).set(batch.times);
  new Uint32Array(memory, places.values, sampleCount * 2).set(wordsOf(batch));
  new Uint32Array(memory, places.sampleSeries, sampleCount).set(batch.sampleSeries);
  new Uint32Array(memory, places.labelStarts, seriesCount).set(labelStarts);
  new Uint32Array(memory, places.labelEnds, seriesCount).set(labelEnds);
  const hashes = new Uint32Array(memory, places.labelHashes, seriesCount * hashWords);
  hasher.hashAll(bytes, labelStarts, labelEnds, seriesCount, hashes);
  const { histograms, exemplars, starts, metadata, refusedHistograms, droppedExemplars } = batch;
  return {
    seriesCount,
    sampleCount,
    packed: histograms && packHistograms(histograms),
    exemplars,
    starts,
    metadata,
    refusedHistograms,
    droppedExemplars,
    columnsAt,
    bytesAt,
    bytesLength: bytes.length,
  };
}

/** Returns the batch as views on the memory: valid until the memory is reused for another request. */
export function readShared(shared: SharedBatch, memory: SharedArrayBuffer): SampleBatch {
  const { seriesCount, sampleCount, packed, exemplars, starts, metadata } = shared;
  const places = placesOf(shared.columnsAt, seriesCount, sampleCount);
  return {
    bytes: new Uint8Array(memory, shared.bytesAt, shared.bytesLength),
    seriesCount,
    labelStarts: new Uint32Array(memory, places.labelStarts, seriesCount),
    labelEnds: new Uint32Array(memory, places.labelEnds, seriesCount),
    labelHashes: new Uint32Array(memory, places.labelHashes, seriesCount * hashWords),
    sampleCount,
    sampleSeries: new Uint32Array(memory, places.sampleSeries, sampleCount),
    times: new Float64Array(memory, places.times, sampleCount),
    values: new Float64Array(memory, places.values, sampleCount),
    histograms: packed && unpackHistograms(packed),
    exemplars,
    starts,
    metadata,
    refusedHistograms: shared.refusedHistograms,
    droppedExemplars: shared.droppedExemplars,
  };
}
