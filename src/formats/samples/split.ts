/** A batch in two halves of about as many samples, in their order. */
import type { SampleBatch } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";

export function splitBatch(batch: SampleBatch): readonly [SampleBatch, SampleBatch] {
  const middle = Math.ceil(batch.sampleCount / 2);
  return [partOf(batch, 0, middle), partOf(batch, middle, batch.sampleCount)];
}

/** The samples from one place to before another, with the series they need. */
export function partOf(batch: SampleBatch, from: number, to: number): SampleBatch {
  const { bytes, labelStarts, labelEnds, sampleSeries, times, values } = batch;
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const builder = new BatchBuilder();
  const known = new Map<number, number>();
  for (let at = from; at < to; at++) {
    const series = sampleSeries[at] ?? 0;
    let index = known.get(series);
    if (index === undefined) {
      index = builder.rawSeries(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0);
      known.set(series, index);
    }
    builder.addBits(index, times[at] ?? 0, words[at * 2] ?? 0, words[at * 2 + 1] ?? 0);
  }
  return builder.finish();
}
