import { expect, test } from "vitest";
import { seededRandom } from "../../../test/fuzz/mutate.ts";
import { labelSet } from "../../model/labels.ts";
import { isStale } from "../../model/stale.ts";
import { type SampleBatch, wordsOf } from "../samples/batch.ts";
import { BatchBuilder } from "../samples/builder.ts";
import { readLabelBlock } from "../samples/labels.ts";
import { decodeWriteRequest } from "./decode.ts";
import { decodeWriteRequestV2 } from "./decode-v2.ts";
import { encodeWriteRequest } from "./encode.ts";
import { encodeWriteRequestV2 } from "./encode-v2.ts";

/** The labels of each series with its samples; values as their bits. */
function plain(batch: SampleBatch): unknown[] {
  const words = wordsOf(batch);
  const samples: unknown[][] = Array.from({ length: batch.seriesCount }, () => []);
  for (let i = 0; i < batch.sampleCount; i++)
    samples[batch.sampleSeries[i] ?? 0]?.push([batch.times[i], words[i * 2], words[i * 2 + 1]]);
  return samples.map((of, series) => [
    readLabelBlock(batch.bytes, batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0),
    of,
  ]);
}

function manySeries(seed: number): SampleBatch {
  const random = seededRandom(seed);
  const builder = new BatchBuilder();
  const series = Array.from({ length: 40 }, (_, index) =>
    builder.series(
      labelSet({
        __name__: `metric_${index % 5}`,
        host: `ä${"x".repeat(index * 6)}`,
        i: `${index}`,
      }),
    ),
  );
  for (const one of series) builder.add(one, 1_794_710_418_438, random() * 1e9);
  for (let count = 0; count < 500; count++) {
    const one = series[Math.floor(random() * series.length)] ?? 0;
    const timeMs = Math.floor((random() - 0.3) * 10 ** (1 + Math.floor(random() * 15)));
    if (random() < 0.1) builder.addStale(one, timeMs);
    else builder.add(one, timeMs, random() < 0.1 ? NaN : (random() - 0.5) * 10 ** (random() * 300));
  }
  builder.learn({ family: "metric_0", type: "counter", help: "Counted.", unit: "" });
  builder.learn({ family: "metric_1", type: "gauge", help: "Ürgs.", unit: "bytes" });
  return builder.finish();
}

const versions = {
  "1.0": (batch: SampleBatch) => decodeWriteRequest(encodeWriteRequest(batch)),
  "2.0": (batch: SampleBatch) => decodeWriteRequestV2(encodeWriteRequestV2(batch)).batch,
};

for (const [version, thereAndBack] of Object.entries(versions)) {
  test(`${version}: labels, times and every value's bits come back, whatever order they came in`, () => {
    for (let seed = 1; seed <= 5; seed++) {
      const batch = manySeries(seed);
      const back = thereAndBack(batch);
      expect(plain(back)).toEqual(plain(batch));
      expect(back.metadata).toEqual(batch.metadata);
    }
  });

  test(`${version}: a stale marker keeps its bits`, () => {
    const builder = new BatchBuilder();
    builder.addStale(builder.series(labelSet({ __name__: "x" })), 5);
    expect(isStale(wordsOf(thereAndBack(builder.finish())), 0)).toBe(true);
  });

  test(`${version}: a series without samples is left out`, () => {
    const builder = new BatchBuilder();
    builder.series(labelSet({ __name__: "empty" }));
    builder.add(builder.series(labelSet({ __name__: "x" })), 5, 1);
    expect(thereAndBack(builder.finish()).seriesCount).toBe(1);
    expect(thereAndBack(new BatchBuilder().finish()).sampleCount).toBe(0);
  });
}

test("requests of 1.0 after each other are one request", () => {
  const [one, two] = [manySeries(1), manySeries(2)];
  const joined = decodeWriteRequest(
    Buffer.concat([encodeWriteRequest(one), encodeWriteRequest(two)]),
  );
  expect(plain(joined)).toEqual([...plain(one), ...plain(two)]);
});
