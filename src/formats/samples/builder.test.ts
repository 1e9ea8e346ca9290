import { expect, test } from "vitest";
import { type Histogram, noBounds, noBuckets } from "../../model/histogram/histogram.ts";
import { histogramOf, joinBatches, partOf, type SampleBatch, wordsOf } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";

const histogram = (sum: number): Histogram => ({
  resetHint: "unknown",
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 1,
  count: 1,
  sum,
  positive: noBuckets,
  negative: noBuckets,
  bounds: noBounds,
});

function sumsOf(batch: SampleBatch): (number | undefined)[] {
  const words = wordsOf(batch);
  return Array.from(
    batch.times,
    (_, at) => histogramOf(batch, words[at * 2] ?? 0, words[at * 2 + 1] ?? 0)?.sum,
  );
}

test("native histograms keep their samples when batches are split and joined", () => {
  const builder = new BatchBuilder();
  const series = builder.series([["__name__", "x"]]);
  builder.addHistogram(series, 1, histogram(10));
  builder.add(series, 2, 5);
  builder.addHistogram(series, 3, histogram(30));
  const batch = builder.finish();
  expect(sumsOf(batch)).toEqual([10, undefined, 30]);
  const tail = partOf(batch, 1, 3);
  expect(sumsOf(tail)).toEqual([undefined, 30]);
  expect(sumsOf(joinBatches([tail, batch]))).toEqual([undefined, 30, 10, undefined, 30]);
});

test("every value is kept where the columns grow", () => {
  const builder = new BatchBuilder();
  const series = builder.series([["__name__", "x"]]);
  for (let at = 0; at < 1_100; at++) builder.add(series, at, at + 1);
  const { values } = builder.finish();
  expect([...values]).toEqual(Array.from({ length: 1_100 }, (_, at) => at + 1));
});
