import { expect, test } from "vitest";
import { readHistogram } from "../../../model/histogram/notation.ts";
import { packHistograms, unpackHistograms } from "./packed-histograms.ts";

test("histograms of every kind come back as they were", () => {
  const first = readHistogram("{{schema:3 count:12.5 sum:-3 offset:-3 buckets:[1 0 2]}}");
  const all = [
    readHistogram("{{count:0 sum:0}}"),
    first,
    { ...first, sum: Number.NaN, count: 14 },
    readHistogram(
      "{{schema:-4 count:9 sum:Inf z_bucket:2 z_bucket_w:0.5 n_offset:-1 n_buckets:[1 2] buckets:[4] counter_reset_hint:gauge}}",
    ),
    readHistogram(
      "{{schema:-53 count:6 sum:1 custom_values:[-1 0 2.5] buckets:[1 2 0 3] counter_reset_hint:not_reset}}",
    ),
    readHistogram("{{count:1 sum:1 z_bucket:1 z_bucket_w:0.1 counter_reset_hint:reset}}"),
    first,
  ];
  const packed = packHistograms(all);
  expect(unpackHistograms(structuredClone(packed))).toEqual(all);
  expect(packed.indexes.length).toBeLessThan(
    all.flatMap(({ positive, negative }) => [...positive.indexes, ...negative.indexes]).length,
  );
});
