import { expect, test } from "vitest";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { labelSet } from "../../model/labels.ts";
import { slices } from "./slices.ts";

/** `owners` is the series of each sample, in order. */
function batchOf(seriesCount: number, owners: readonly number[]): SampleBatch {
  const builder = new BatchBuilder();
  for (let series = 0; series < seriesCount; series++)
    builder.series(labelSet({ __name__: "m", i: String(series) }));
  owners.forEach((owner, index) => builder.add(owner, 1_000 + index, index / 2));
  return builder.finish();
}

const nameOf = (batch: SampleBatch, series: number): string =>
  readLabelBlock(batch.bytes, batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0).find(
    ([name]) => name === "i",
  )?.[1] ?? "";

const samplesOf = (batch: SampleBatch): string[] =>
  [...batch.sampleSeries].map(
    (series, at) => `${nameOf(batch, series)} ${batch.times[at]} ${batch.values[at]}`,
  );

const cases: [string, number, number[]][] = [
  ["one sample a series", 10, [...Array(10).keys()]],
  ["many samples of few series", 2, Array.from({ length: 23 }, (_, at) => (at < 12 ? 0 : 1))],
  ["series in turns", 7, Array.from({ length: 40 }, (_, at) => at % 7)],
  ["series without samples", 12, [3, 3, 5]],
  ["nothing but series", 9, []],
];

test.each(cases)("%s: the parts are small and together are the batch", (_, seriesCount, owners) => {
  const batch = batchOf(seriesCount, owners);
  const parts = [...slices(batch, { series: 4, samples: 5 })];
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.every((part) => part.seriesCount <= 4 && part.sampleCount <= 5)).toBe(true);
  expect(parts.flatMap(samplesOf)).toEqual(samplesOf(batch));
  const named = parts.flatMap((part) =>
    Array.from({ length: part.seriesCount }, (_unused, at) => nameOf(part, at)),
  );
  expect(new Set(named).size).toBe(seriesCount);
});

test("a small batch is left as it is", () => {
  const batch = batchOf(3, [0, 1, 2]);
  expect([...slices(batch, { series: 3, samples: 3 })]).toEqual([batch]);
});
