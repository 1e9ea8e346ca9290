// One malformed histogram per line, with the expected reason and message.
import { expect, test } from "vitest";
import { checkHistogram, type HistogramParts, isFault, spansOf, withinBuckets } from "./check.ts";
import { readHistogram } from "./notation.ts";

const none = { spans: [], counts: [] };
const parts = (given: Partial<HistogramParts>): HistogramParts => ({
  resetHint: "unknown",
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  isInteger: true,
  positive: none,
  negative: none,
  bounds: [],
  ...given,
});
const on = (spans: number[], counts: number[]): HistogramParts["positive"] => ({ spans, counts });
const custom = { schema: -53, bounds: [1, 2] };

test.for<[Partial<HistogramParts>, string]>([
  [{ schema: -5 }, "histogram_schema"],
  [{ schema: 53 }, "histogram_schema"],
  [{ schema: Number.NaN }, "histogram_schema"],
  [{ count: 1, positive: on([0, 2], [1]) }, "histogram_spans"],
  [{ count: 2, positive: on([0, 1], [1, 1]) }, "histogram_spans"],
  [{ count: 2, positive: on([0, 1, -1, 1], [1, 1]) }, "histogram_spans"],
  [{ count: 2, negative: on([0, 1, -3, 1], [1, 1]) }, "histogram_spans"],
  [{ count: 1, positive: on([2 ** 31, 1], [1]) }, "histogram_spans"],
  [{ positive: on([0, 2 ** 32 - 1], []) }, "histogram_spans"],
  [{ count: 3, positive: on([0, 1], [2]) }, "histogram_count_mismatch"],
  [{ count: 1, positive: on([0, 1], [2]), sum: Number.NaN }, "histogram_count_mismatch"],
  [{ count: -1 }, "histogram_negative_count"],
  [{ count: Number.NaN, isInteger: false }, "histogram_negative_count"],
  [{ count: 1, zeroCount: -1, positive: on([0, 1], [2]) }, "histogram_negative_count"],
  [{ count: 1, positive: on([0, 2], [2, -1]) }, "histogram_negative_count"],
  [{ count: 1, isInteger: false, positive: on([0, 1], [Number.NaN]) }, "histogram_negative_count"],
  [{ zeroThreshold: -1 }, "histogram_zero_bucket"],
  [{ zeroThreshold: Number.NaN }, "histogram_zero_bucket"],
  [{ bounds: [1] }, "histogram_bounds"],
  [{ ...custom, bounds: [2, 1] }, "histogram_bounds"],
  [{ ...custom, bounds: [1, 1] }, "histogram_bounds"],
  [{ ...custom, bounds: [1, Infinity] }, "histogram_bounds"],
  [{ ...custom, bounds: [Number.NaN] }, "histogram_bounds"],
  [{ ...custom, count: 1, positive: on([3, 1], [1]) }, "histogram_bounds"],
  [{ ...custom, count: 1, positive: on([-1, 1], [1]) }, "histogram_spans"],
  [{ ...custom, count: 1, negative: on([0, 1], [1]) }, "histogram_spans"],
  [{ ...custom, count: 1, zeroCount: 1 }, "histogram_zero_bucket"],
  [{ ...custom, zeroThreshold: 1 }, "histogram_zero_bucket"],
  [
    {
      positive: on(
        [0, 70_000],
        Array.from({ length: 70_000 }, () => 0),
      ),
    },
    "histogram_too_many_buckets",
  ],
])("%j is refused: %s", ([given, reason]) => {
  const checked = checkHistogram(parts(given));
  expect(isFault(checked) ? checked.reason : "accepted").toBe(reason);
});

test.for<[Partial<HistogramParts>, string]>([
  [{}, "{{}}"],
  [{ count: 3, positive: on([-1, 1, 0, 1], [1, 2]) }, "{{count:3 offset:-1 buckets:[1 2]}}"],
  [{ count: 5, sum: Number.NaN, positive: on([0, 1], [2]) }, "{{count:5 sum:NaN buckets:[2]}}"],
  [{ count: 7, isInteger: false, positive: on([0, 1], [0.5]) }, "{{count:7 buckets:[0.5]}}"],
  [
    { ...custom, count: 2, positive: on([1, 2], [1, 1]) },
    "{{schema:-53 count:2 custom_values:[1 2] offset:1 buckets:[1 1]}}",
  ],
  [
    { count: 2, zeroCount: 1, zeroThreshold: 0.5, negative: on([2, 1], [1]) },
    "{{count:2 z_bucket:1 z_bucket_w:0.5 n_offset:2 n_buckets:[1]}}",
  ],
  [
    { schema: 9, count: 3, positive: on([1, 2], [1, 2]) },
    "{{schema:8 count:3 offset:1 buckets:[3]}}",
  ],
])("%j is %s", ([given, expected]) => {
  expect(checkHistogram(parts(given))).toEqual(readHistogram(expected));
});

test("more buckets than the limit are merged down to schema -4; further ones and custom ones are refused", () => {
  const histogram = readHistogram("{{schema:2 count:8 offset:1 buckets:[1 1 1 1 1 1 1 1]}}");
  expect(withinBuckets(histogram, 4)).toMatchObject({ schema: 1 });
  expect(withinBuckets(histogram, 2)).toEqual(readHistogram("{{count:8 offset:1 buckets:[4 4]}}"));
  const far = checkHistogram(parts({ count: 2, positive: on([-60, 1, 90, 1], [1, 1]) }), 1);
  expect(far).toMatchObject({ reason: "histogram_too_many_buckets" });
  const bounded = checkHistogram(parts({ ...custom, count: 2, positive: on([0, 2], [1, 1]) }), 1);
  expect(bounded).toMatchObject({ reason: "histogram_too_many_buckets" });
});

test("spans are those of neighbouring buckets, the first counted from index 0", () => {
  const spans = [-3, 2, 5, 1];
  const checked = checkHistogram(parts({ count: 3, positive: on(spans, [1, 1, 1]) }));
  expect(isFault(checked) ? [] : spansOf(checked.positive)).toEqual(spans);
});
