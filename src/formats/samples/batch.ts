/**
 * Samples as columns: the common form that every sample format is decoded to and encoded from. No object per sample; a series is
 * its label block, whose bytes are those of remote-write 1.0.
 */
import type { Exemplar } from "../../model/exemplar.ts";
import type { HistogramFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { histogramHigh } from "../../model/histogram/word.ts";
import { BatchBuilder } from "./builder.ts";

export interface Metadata {
  readonly family: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** The metadata of a series, by metric name. */
export type MetadataLookup = (name: string) => Metadata | undefined;

/** An exemplar of one series of the batch it was decoded with. */
export interface BatchExemplar extends Exemplar {
  readonly series: number;
}

/** The time at which the counter or histogram of a series started from 0, as reported by its sender. */
export interface BatchStart {
  readonly series: number;
  readonly startMs: number;
  /** The time of the sample with this start; a start that is not earlier is invalid. */
  readonly sampleMs: number;
  /** The sample is a histogram with these buckets; a float if absent. */
  readonly histogram?: Histogram | undefined;
}

/** Native histograms that a decoder refused for the same reason; `problem` is that of the first. */
export interface RefusedHistograms extends HistogramFault {
  readonly count: number;
}

export const countRefused = (refused: readonly RefusedHistograms[]): number =>
  refused.reduce((sum, { count }) => sum + count, 0);

/**
 * A series' label block is its encoded labels (`repeated Label labels = 1`), sorted: equal bytes are the same series. A batch in
 * shared memory is valid until its write has resolved; `ownBatch` makes a lasting copy.
 */
export interface SampleBatch {
  readonly bytes: Uint8Array;
  readonly seriesCount: number;
  /** Start of each series' label block in `bytes`. */
  readonly labelStarts: Uint32Array;
  readonly labelEnds: Uint32Array;
  /** The hashes of the label blocks, if a worker thread has computed them. */
  readonly labelHashes?: Uint32Array | undefined;
  readonly sampleCount: number;
  /** The series of each sample. */
  readonly sampleSeries: Uint32Array;
  readonly times: Float64Array;
  /** Copied bit for bit: a staleness marker is a NaN whose payload matters, and must never be converted to a number. */
  readonly values: Float64Array;
  /**
   * Native histograms. The sample of a histogram is a NaN in `values` with `histogramHigh` as its high word and the index in this
   * list as its low word; parts of a batch share the list. A NaN with these bits but no histogram at the index is an ordinary NaN.
   */
  readonly histograms?: readonly Histogram[] | undefined;
  /** Exemplars of a whole request; parts of a batch have none. */
  readonly exemplars?: readonly BatchExemplar[] | undefined;
  /** Start times of a whole request; parts of a batch have none. */
  readonly starts?: readonly BatchStart[] | undefined;
  /** Silently skips samples that are not newer than all others of their series, such as the zeros at start times. */
  readonly isOnlyNewer?: boolean | undefined;
  readonly metadata: readonly Metadata[];
  /** Malformed histograms and exemplars, which the receiver counts. */
  readonly refusedHistograms: readonly RefusedHistograms[];
  readonly droppedExemplars: number;
}

/** The batch itself, or a copy if it is in shared memory. */
export function ownBatch(batch: SampleBatch): SampleBatch {
  if (!(batch.times.buffer instanceof SharedArrayBuffer)) return batch;
  const words = wordsOf(batch).slice();
  return {
    ...batch,
    bytes: batch.bytes.slice(),
    labelStarts: batch.labelStarts.slice(),
    labelEnds: batch.labelEnds.slice(),
    labelHashes: undefined,
    sampleSeries: batch.sampleSeries.slice(),
    times: batch.times.slice(),
    values: new Float64Array(words.buffer),
  };
}

/* Splits a batch into two halves with about as many samples each, in order. */

export function splitBatch(batch: SampleBatch): readonly [SampleBatch, SampleBatch] {
  const middle = Math.ceil(batch.sampleCount / 2);
  return [partOf(batch, 0, middle), partOf(batch, middle, batch.sampleCount)];
}

/** The samples from one index up to, not including, another, with their series. */
export function partOf(batch: SampleBatch, from: number, to: number): SampleBatch {
  const { bytes, labelStarts, labelEnds, sampleSeries } = batch;
  const words = wordsOf(batch);
  const builder = new BatchBuilder();
  const known = new Map<number, number>();
  for (let at = from; at < to; at++) {
    const series = sampleSeries[at] ?? 0;
    let index = known.get(series);
    if (index === undefined) {
      index = builder.rawSeries(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0);
      known.set(series, index);
    }
    copySample(batch, words, at, builder, index);
  }
  // An exemplar stays with the part in which its series begins.
  if (from === 0) for (const one of batch.exemplars ?? []) copyExemplar(one, known, builder);
  return builder.finish();
}

function copyExemplar(
  { series, ...exemplar }: BatchExemplar,
  places: ReadonlyMap<number, number>,
  builder: BatchBuilder,
): void {
  const place = places.get(series);
  if (place !== undefined) builder.addExemplar(place, exemplar);
}

/** Only the floats, for receivers without native histograms. */
export function withoutHistograms(batch: SampleBatch): SampleBatch {
  if (batch.histograms === undefined) return batch;
  const words = wordsOf(batch);
  const builder = new BatchBuilder();
  for (let series = 0; series < batch.seriesCount; series++)
    builder.rawSeries(batch.bytes, batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0);
  for (let at = 0; at < batch.sampleCount; at++)
    if (histogramAt(batch, words, at) === undefined)
      copySample(batch, words, at, builder, batch.sampleSeries[at] as number);
  for (const { series, ...exemplar } of batch.exemplars ?? [])
    builder.addExemplar(series, exemplar);
  for (const one of batch.metadata) builder.learn(one);
  return builder.finish();
}

/** The native histogram of sample `at`; undefined for a float. */
export const histogramAt = (
  batch: SampleBatch,
  words: Uint32Array,
  at: number,
): Histogram | undefined =>
  histogramOf(batch, words[at * 2] as number, words[at * 2 + 1] as number);

/* A batch's samples grouped by series, in their original order, as every format writes them. */

export interface SeriesGrouping {
  /** `order[starts[s]] … order[starts[s + 1] - 1]` are the samples of series s. */
  readonly order: Uint32Array;
  readonly starts: Uint32Array;
}

export function groupBySeries({
  seriesCount,
  sampleCount,
  sampleSeries,
}: SampleBatch): SeriesGrouping {
  const starts = new Uint32Array(seriesCount + 1);
  for (let i = 0; i < sampleCount; i++) {
    const after = (sampleSeries[i] as number) + 1;
    starts[after] = (starts[after] as number) + 1;
  }
  for (let series = 0; series < seriesCount; series++)
    starts[series + 1] = (starts[series + 1] as number) + (starts[series] as number);
  const next = starts.slice(0, seriesCount);
  const order = new Uint32Array(sampleCount);
  for (let i = 0; i < sampleCount; i++) {
    const series = sampleSeries[i] as number;
    const place = next[series] as number;
    order[place] = i;
    next[series] = place + 1;
  }
  return { order, starts };
}

/** The native histogram of a sample, by its words; undefined for a float. */
export function histogramOf(batch: SampleBatch, low: number, high: number): Histogram | undefined {
  return high === histogramHigh ? batch.histograms?.[low] : undefined;
}

/** Appends sample `at` of a batch to a series of the builder; `words` are the batch's values. */
export function copySample(
  batch: SampleBatch,
  words: Uint32Array,
  at: number,
  builder: BatchBuilder,
  series: number,
): void {
  const [low, high] = [words[at * 2] as number, words[at * 2 + 1] as number];
  const timeMs = batch.times[at] as number;
  const histogram = histogramOf(batch, low, high);
  if (histogram === undefined) builder.addBits(series, timeMs, low, high);
  else builder.addHistogram(series, timeMs, histogram);
}

/** A batch's values as words, the only way to copy a NaN whose bits matter. */
export const wordsOf = ({ values }: SampleBatch): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length * 2);

/* Joins consecutive batches: a series in several of them appears once, with its samples in their order. */

export function joinBatches(batches: readonly SampleBatch[]): SampleBatch {
  const [only] = batches;
  if (only !== undefined && batches.length === 1) return only;
  const builder = new BatchBuilder();
  const known = new Map<string, number>();
  const families = new Map<string, Metadata>();
  for (const batch of batches) {
    const { bytes, labelStarts, labelEnds, sampleSeries } = batch;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const places = new Int32Array(batch.seriesCount).fill(-1);
    const words = wordsOf(batch);
    for (let at = 0; at < batch.sampleCount; at++) {
      const series = sampleSeries[at] as number;
      if (places[series] === -1) {
        const [start, end] = [labelStarts[series] as number, labelEnds[series] as number];
        const key = text.toString("latin1", start, end);
        let place = known.get(key);
        if (place === undefined) {
          place = builder.rawSeries(bytes, start, end);
          known.set(key, place);
        }
        places[series] = place;
      }
      copySample(batch, words, at, builder, places[series] as number);
    }
    for (const { series, ...exemplar } of batch.exemplars ?? [])
      if ((places[series] ?? -1) >= 0) builder.addExemplar(places[series] as number, exemplar);
    for (const one of batch.metadata) families.set(one.family, one);
  }
  for (const one of families.values()) builder.learn(one);
  return builder.finish();
}
