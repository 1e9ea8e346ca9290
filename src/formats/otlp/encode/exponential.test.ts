import { expect, test } from "vitest";
import { readHistogram } from "../../../model/histogram/notation.ts";
import type { SampleBatch } from "../../samples/batch.ts";
import { BatchBuilder } from "../../samples/builder.ts";
import { otlpBatch } from "../decode/batch.ts";
import { OtlpCache } from "../decode/cache.ts";
import { decodeOtlpJson } from "../decode/json.ts";
import { decodeOtlp } from "../decode/protobuf.ts";
import { encodeOtlpJson } from "./json.ts";
import { exportOf } from "./model.ts";
import { encodeOtlp } from "./protobuf.ts";

function there(histogram: string): SampleBatch[] {
  const builder = new BatchBuilder();
  builder.addHistogram(
    builder.series([["__name__", "h"]]),
    1_790_000_000_000,
    readHistogram(histogram),
  );
  const resources = exportOf(builder.finish(), () => undefined);
  return [
    decodeOtlp(encodeOtlp(resources, "1")),
    decodeOtlpJson(encodeOtlpJson(resources, "1")),
  ].map((back) => otlpBatch(back, new OtlpCache(), { toCustomBuckets: true }).batch);
}

test.for([
  "{{schema:2 count:12 sum:7.5 z_bucket:2 z_bucket_w:0.5 offset:-3 buckets:[1 0 4] n_offset:2 n_buckets:[5]}}",
  "{{schema:-53 count:6 sum:9 custom_values:[0.5 1] buckets:[2 3 1]}}",
])("%s comes back from both encodings", (text) => {
  for (const batch of there(text)) expect(batch.histograms).toEqual([readHistogram(text)]);
});

test("buckets that lie too far apart are merged, fractions of observations leave count and sum", () => {
  const far = "{{schema:8 count:2 z_bucket_w:1 offset:0 buckets:[1]}}";
  for (const batch of there(far.replace("buckets:[1]", `buckets:[1 ${"0 ".repeat(9_000)}1]`)))
    expect(batch.histograms).toMatchObject([{ schema: 5, count: 2 }]);
  for (const batch of there("{{count:1.5 sum:2 buckets:[1.5]}}"))
    expect([...batch.values]).toEqual([1.5, 2]);
});
