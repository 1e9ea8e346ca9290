import { expect, test } from "vitest";
import { readHistogram } from "../../model/histogram/notation.ts";
import { allBuckets, type Histogram } from "../../model/histogram/histogram.ts";
import { fromShown } from "./histogram-json.ts";

const populated = (histogram: Histogram) =>
  allBuckets(histogram).filter(({ count }) => count !== 0);

test.each([
  "{{schema:0 count:5 sum:12 buckets:[1 3 1]}}",
  "{{schema:3 count:9 sum:1.5 z_bucket:2 z_bucket_w:0.001 offset:-7 buckets:[1 0 0 2 4]}}",
  "{{schema:-4 count:9 sum:1.5 offset:-2 buckets:[1 0 0 2 4]}}",
  "{{schema:8 count:9 sum:-2 n_offset:100 n_buckets:[1 2 3] offset:-300 buckets:[3]}}",
  "{{schema:2 count:3 sum:4 z_bucket:1 z_bucket_w:0.9 offset:0 buckets:[2 1]}}",
  "{{schema:0 count:0 sum:0}}",
  "{{schema:-53 count:8 sum:20 custom_values:[0.1 0.25 7] buckets:[1 0 3 4]}}",
  "{{schema:-53 count:8 sum:20 custom_values:[-5 -1 2] buckets:[1 2 3]}}",
])("%s is read from its buckets", (text) => {
  const histogram = readHistogram(text);
  const read = fromShown({
    count: histogram.count,
    sum: histogram.sum,
    buckets: populated(histogram),
  });
  expect(populated(read)).toEqual(populated(histogram));
  expect([read.count, read.sum]).toEqual([histogram.count, histogram.sum]);
  if (populated(histogram).length > 2) expect(read.schema).toBe(histogram.schema);
});
