/** Batches after each other as one: a series that several of them have stands once, its samples in their order. */
import type { Metadata, SampleBatch } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";
import { wordsOf } from "./by-series.ts";

export function joinBatches(batches: readonly SampleBatch[]): SampleBatch {
  const [only] = batches;
  if (only !== undefined && batches.length === 1) return only;
  const builder = new BatchBuilder();
  const known = new Map<string, number>();
  const told = new Map<string, Metadata>();
  for (const batch of batches) {
    const { bytes, labelStarts, labelEnds, sampleSeries, times } = batch;
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
      const place = places[series] as number;
      const [low, high] = [words[at * 2] as number, words[at * 2 + 1] as number];
      builder.addBits(place, times[at] as number, low, high);
    }
    for (const one of batch.metadata) told.set(one.family, one);
  }
  for (const one of told.values()) builder.learn(one);
  return builder.finish();
}
