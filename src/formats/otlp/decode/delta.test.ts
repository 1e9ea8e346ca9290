import { expect, test } from "vitest";
import { batchLines } from "../../../../test/fixtures/formats/samples.ts";
import { readHistogram } from "../../../model/histogram/notation.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { labelSet } from "../../../model/labels.ts";
import { histogramAt, type SampleBatch, wordsOf } from "../../samples/batch.ts";
import { BatchBuilder } from "../../samples/builder.ts";
import { DeltaTotals } from "./delta.ts";

type Given = readonly [name: string, timeMs: number, value: number | Histogram | "stale"];

function batchOf(samples: readonly Given[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const [name, timeMs, value] of samples) {
    const series = builder.series(labelSet({ __name__: name }));
    builder.addStart({ series, startMs: timeMs - 10, sampleMs: timeMs });
    if (value === "stale") builder.addStale(series, timeMs);
    else if (typeof value === "number") builder.add(series, timeMs, value);
    else builder.addHistogram(series, timeMs, value);
  }
  return builder.finish();
}

/** All series except those named `gauge` are deltas. */
function accumulate(totals: DeltaTotals, samples: readonly Given[], nowMs = 0) {
  const delta = samples.flatMap(([name], at) => (name === "gauge" ? [] : [at]));
  return totals.accumulate(batchOf(samples), delta, nowMs);
}

const linesOf = (totals: DeltaTotals, samples: readonly Given[], nowMs = 0): string[] =>
  batchLines(accumulate(totals, samples, nowMs).batch);

test("each export is added to the total of its series, others stay as they are", () => {
  const totals = new DeltaTotals();
  expect(
    linesOf(totals, [
      ["a", 1, 5],
      ["gauge", 1, 3],
      ["b", 1, 0.5],
    ]),
  ).toEqual(["a{} 5 @1", "gauge{} 3 @1", "b{} 0.5 @1"]);
  expect(
    linesOf(totals, [
      ["a", 2, 2],
      ["a", 3, 1],
      ["gauge", 2, 4],
    ]),
  ).toEqual(["a{} 7 @2", "a{} 8 @3", "gauge{} 4 @2"]);
  expect(
    linesOf(totals, [
      ["a", 4, 0],
      ["b", 4, -1],
    ]),
  ).toEqual(["a{} 8 @4", "b{} -0.5 @4"]);
});

test("a request that is sent again changes no total and gives the same samples", () => {
  const totals = new DeltaTotals();
  const request: Given[] = [["a", 1, 5]];
  expect(linesOf(totals, request)).toEqual(linesOf(totals, request));
  expect(linesOf(totals, [["a", 2, 1]])).toEqual(["a{} 6 @2"]);
});

test("an older point is refused and counted, not added", () => {
  const totals = new DeltaTotals();
  linesOf(totals, [["a", 5, 5]]);
  const late = accumulate(totals, [
    ["a", 3, 100],
    ["a", 6, 1],
  ]);
  expect([late.outOfOrder, batchLines(late.batch)]).toEqual([1, ["a{} 6 @6"]]);
});

test("the end of a series, and an hour without an export, begin its total again", () => {
  const totals = new DeltaTotals({ staleMs: 100 });
  linesOf(
    totals,
    [
      ["a", 1, 5],
      ["b", 1, 5],
    ],
    0,
  );
  linesOf(totals, [["a", 2, "stale"]], 10);
  expect(
    linesOf(
      totals,
      [
        ["a", 3, 1],
        ["b", 3, 1],
      ],
      50,
    ),
  ).toEqual(["a{} 1 @3", "b{} 6 @3"]);
  expect(linesOf(totals, [["b", 4, 1]], 149)).toEqual(["b{} 7 @4"]);
  expect(totals.size).toBe(2);
  expect(linesOf(totals, [["a", 4, 1]], 150)).toEqual(["a{} 1 @4"]);
});

test("points of series beyond the limit are refused and counted; those that are known go on", () => {
  const totals = new DeltaTotals({ series: 2 });
  const { overLimit, batch } = accumulate(totals, [
    ["a", 1, 1],
    ["b", 1, 1],
    ["c", 1, 1],
  ]);
  expect([overLimit, batchLines(batch)]).toEqual([1, ["a{} 1 @1", "b{} 1 @1"]]);
  expect(linesOf(totals, [["a", 2, 1]])).toEqual(["a{} 2 @2"]);
  const few = new DeltaTotals({ buckets: 3 });
  const two = readHistogram("{{schema:0 count:2 sum:3 buckets:[1 1]}}");
  expect(
    accumulate(few, [
      ["a", 1, two],
      ["b", 1, two],
    ]).overLimit,
  ).toBe(1);
});

const histogramOfLast = ({ batch }: { batch: SampleBatch }): Histogram | undefined =>
  histogramAt(batch, wordsOf(batch), batch.sampleCount - 1);

test("histograms are added bucket by bucket, in the coarser resolution of both", () => {
  const totals = new DeltaTotals();
  accumulate(totals, [["h", 1, readHistogram("{{schema:1 count:3 sum:3 buckets:[1 1 1]}}")]]);
  const coarse = readHistogram("{{schema:0 count:2 sum:2 offset:1 buckets:[2]}}");
  expect(histogramOfLast(accumulate(totals, [["h", 2, coarse]]))).toEqual(
    readHistogram("{{schema:0 count:5 sum:5 buckets:[1 4]}}"),
  );
});

test("custom buckets are added, and begin again with other bounds", () => {
  const totals = new DeltaTotals();
  const custom = (bounds: string): Histogram =>
    readHistogram(`{{schema:-53 count:3 sum:3 custom_values:[${bounds}] buckets:[1 2]}}`);
  accumulate(totals, [["h", 1, custom("1 2")]]);
  expect(histogramOfLast(accumulate(totals, [["h", 2, custom("1 2")]]))).toMatchObject({
    count: 6,
    sum: 6,
  });
  expect(histogramOfLast(accumulate(totals, [["h", 3, custom("1 3")]]))).toEqual(custom("1 3"));
});

test("a total of too many buckets is merged into wider ones", () => {
  const totals = new DeltaTotals();
  const at = (index: number): Histogram =>
    readHistogram(`{{schema:3 count:1 sum:1 offset:${index} buckets:[1]}}`);
  let last: Histogram | undefined;
  for (let i = 0; i < 500; i++) last = histogramOfLast(accumulate(totals, [["h", i, at(i)]]));
  expect(last?.count).toBe(500);
  expect(last?.schema).toBeLessThan(3);
  expect(last?.positive.counts.length).toBeLessThanOrEqual(320);
});

test("counting began at the start of the first export", () => {
  const totals = new DeltaTotals();
  expect(
    accumulate(totals, [
      ["a", 20, 1],
      ["gauge", 20, 1],
    ]).batch.starts,
  ).toMatchObject([{ series: 0, startMs: 10 }, { series: 1 }]);
  expect(
    accumulate(totals, [
      ["a", 30, 1],
      ["gauge", 30, 1],
    ]).batch.starts,
  ).toMatchObject([{ series: 1 }]);
});
