// Counts that can be checked by hand: the bounds of schema 0 are powers of two, custom bounds are listed.
import { expect, test } from "vitest";
import { add, divide, isReset, multiply, subtract } from "./arithmetic.ts";
import { allBuckets, boundOf, compact, equalHistograms, toSchema } from "./histogram.ts";
import { readHistogram as read } from "./notation.ts";
import { fraction, quantile, variance } from "./quantile.ts";
import { HistogramSum } from "./sum.ts";
import { trim } from "./trim.ts";

test("bounds: powers of two in schema 0, halves of an exponent in schema 1, the largest number before infinity", () => {
  expect([-1, 0, 1, 2].map((index) => boundOf(index, 0, new Float64Array()))).toEqual([
    0.5, 1, 2, 4,
  ]);
  expect(boundOf(1, 1, new Float64Array())).toBeCloseTo(Math.SQRT2, 15);
  expect(boundOf(1024, 0, new Float64Array())).toBe(Number.MAX_VALUE);
  expect(boundOf(1025, 0, new Float64Array())).toBe(Infinity);
});

test("buckets come from the smallest values to the largest", () => {
  const histogram = read(
    "{{count:7 sum:1 z_bucket:2 z_bucket_w:0.5 buckets:[1 2] n_buckets:[1 1]}}",
  );
  expect(allBuckets(histogram)).toEqual([
    { lower: -2, upper: -1, count: 1 },
    { lower: -1, upper: -0.5, count: 1 },
    { lower: -0.5, upper: 0.5, count: 2 },
    { lower: 0.5, upper: 1, count: 1 },
    { lower: 1, upper: 2, count: 2 },
  ]);
});

test("a lower schema merges neighbours: (1, 2] and (2, 4] become (1, 4]", () => {
  const merged = toSchema(read("{{count:10 buckets:[1 2 3 4]}}"), -1);
  expect(allBuckets(merged)).toEqual([
    { lower: 0.25, upper: 1, count: 1 },
    { lower: 1, upper: 4, count: 5 },
    { lower: 4, upper: 16, count: 4 },
  ]);
});

test("a sum of different schemas has the lower one, and what was added can be subtracted", () => {
  const fine = read("{{schema:0 count:6 sum:9 buckets:[1 2 3]}}");
  const coarse = read("{{schema:-1 count:5 sum:4 buckets:[2 3]}}");
  const sum = add(fine, coarse)?.histogram;
  expect(sum).toMatchObject({ schema: -1, count: 11, sum: 13 });
  expect(allBuckets(sum ?? fine).map(({ count }) => count)).toEqual([3, 8]);
  const back = compact(subtract(sum ?? fine, toSchema(fine, -1))?.histogram ?? fine);
  expect(equalHistograms(back, coarse)).toBe(true);
});

test("a wider zero bucket takes in the buckets inside it, and the whole of one it would cut", () => {
  const wide = read("{{count:1 z_bucket:1 z_bucket_w:1.5}}");
  const sum = add(read("{{count:6 buckets:[1 2 3]}}"), wide)?.histogram;
  expect(sum).toMatchObject({ zeroThreshold: 2, zeroCount: 4, count: 7 });
  expect([...(sum?.positive.indexes ?? [])]).toEqual([2]);
});

test("custom buckets of different bounds meet in the bounds both have; with exponential ones they do not", () => {
  const a = read("{{schema:-53 count:10 sum:1 custom_values:[1 2 5] buckets:[1 2 3 4]}}");
  const b = read("{{schema:-53 count:3 sum:1 custom_values:[2 5 9] buckets:[1 1 0 1]}}");
  const sum = add(a, b);
  expect(sum?.boundsReconciled).toBe(true);
  expect([...(sum?.histogram.bounds ?? [])]).toEqual([2, 5]);
  expect([...(sum?.histogram.positive.counts ?? [])]).toEqual([4, 4, 5]);
  expect(add(a, read("{{count:1 buckets:[1]}}"))).toBeUndefined();
});

test.for([
  ["gauge", "reset", "gauge", false],
  ["unknown", "not_reset", "unknown", false],
  ["reset", "not_reset", "unknown", true],
  ["reset", "reset", "reset", false],
] as const)("reset hints %s and %s give %s", ([a, b, hint, collision]) => {
  const of = (name: string): ReturnType<typeof read> =>
    read(`{{count:1 counter_reset_hint:${name}}}`);
  const sum = add(of(a), of(b));
  expect([sum?.histogram.resetHint, sum?.resetCollision]).toEqual([hint, collision]);
});

test("multiples: a negative factor makes a gauge, division by 0 leaves no bucket", () => {
  const one = read("{{count:2 sum:3 buckets:[2] counter_reset_hint:not_reset}}");
  expect(multiply(one, -2)).toMatchObject({ count: -4, sum: -6, resetHint: "gauge" });
  expect(divide(one, 0)).toMatchObject({
    count: Infinity,
    positive: { counts: new Float64Array() },
  });
});

test.for([
  ["{{count:4 buckets:[1 3]}}", "{{count:3 buckets:[1 2]}}", false],
  ["{{count:2 buckets:[1 1]}}", "{{count:3 buckets:[1 2]}}", true],
  ["{{count:4 buckets:[0 4]}}", "{{count:3 buckets:[1 2]}}", true],
  ["{{schema:1 count:9 buckets:[9]}}", "{{schema:0 count:1 buckets:[1]}}", true],
  ["{{schema:-1 count:9 buckets:[3 6]}}", "{{schema:0 count:6 buckets:[1 2 3]}}", false],
  [
    "{{schema:-1 count:9 z_bucket:9 z_bucket_w:3 n_offset:1 n_buckets:[1]}}",
    "{{schema:1 count:9 n_offset:1 n_buckets:[9]}}",
    true,
  ],
  [
    "{{schema:-1 count:9 z_bucket:9 z_bucket_w:4}}",
    "{{schema:1 count:9 n_offset:1 n_buckets:[9]}}",
    false,
  ],
  ["{{count:1 buckets:[1] counter_reset_hint:not_reset}}", "{{count:3 buckets:[3]}}", false],
  ["{{count:9 buckets:[9] counter_reset_hint:reset}}", "{{count:3 buckets:[3]}}", true],
] as const)("%s after %s: reset %s", ([current, previous, expected]) => {
  expect(isReset(read(current), read(previous))).toBe(expected);
});

test("quantiles lie on a logarithmic scale within a bucket, linear within a custom one and the zero bucket", () => {
  expect(quantile(0.5, read("{{count:2 sum:3 offset:1 buckets:[2]}}")).value).toBeCloseTo(
    Math.SQRT2,
    12,
  );
  expect(quantile(0.25, read("{{schema:-53 count:4 custom_values:[8] buckets:[4]}}")).value).toBe(
    2,
  );
  expect(quantile(0.5, read("{{count:4 z_bucket:4 z_bucket_w:1}}")).value).toBe(0);
  expect(quantile(0.5, read("{{count:2 offset:1 n_offset:1 n_buckets:[2]}}")).value).toBeCloseTo(
    -Math.SQRT2,
    12,
  );
  expect(quantile(2, read("{{count:1 buckets:[1]}}")).value).toBe(Infinity);
  expect(quantile(0.5, read("{{}}")).value).toBeNaN();
});

test("observations of NaN are in no bucket: a quantile among them is NaN, one below is skewed", () => {
  const histogram = read("{{count:10 sum:NaN buckets:[5]}}");
  expect(quantile(0.9, histogram)).toEqual({ value: Number.NaN, nan: "result is NaN" });
  expect(quantile(0.1, histogram).nan).toBe("skewed higher");
  expect(fraction(-Infinity, Infinity, histogram)).toEqual({ value: 0.5, nan: "excluded" });
});

test("the fraction below a quantile is the quantile", () => {
  const histogram = read(
    "{{schema:2 count:12 sum:20 z_bucket:2 z_bucket_w:0.01 buckets:[1 2 3 4]}}",
  );
  for (const q of [0.1, 0.3, 0.5, 0.77, 0.95])
    expect(fraction(-Infinity, quantile(q, histogram).value, histogram).value).toBeCloseTo(q, 12);
});

test("variance takes every observation in the middle of its bucket", () => {
  expect(variance(read("{{schema:-53 count:4 sum:12 custom_values:[2 4] buckets:[0 4]}}"))).toBe(0);
  expect(
    variance(read("{{count:2 sum:0 offset:1 buckets:[1] n_offset:1 n_buckets:[1]}}")),
  ).toBeCloseTo(2, 12);
});

test("trimmed at a bound whole buckets go; inside a custom bucket a linear part stays", () => {
  const histogram = read("{{count:6 sum:9 buckets:[1 2 3]}}");
  expect(trim(histogram, 2, "below")).toMatchObject({ count: 3 });
  expect(trim(histogram, 2, "above")).toMatchObject({ count: 3 });
  expect(trim(histogram, 100, "below")).toBe(histogram);
  const custom = read("{{schema:-53 count:8 sum:9 custom_values:[2 4] buckets:[4 4]}}");
  expect(trim(custom, 3, "below")).toMatchObject({ count: 6, sum: 4 * 1 + 2 * 2.5 });
});

test.for([
  ["{{count:x}}", /"x" is not a number/],
  ["{{colour:1}}", /"colour" is not a field/],
  ["{{schema:9}}", /schema 9 is unknown/],
  ["{{count:1 buckets:1}}", /wrong form/],
  ["{{count:1 !}}", /"!" is not understood/],
  ["{{counter_reset_hint:maybe}}", /counter_reset_hint is one of/],
] as const)("%s is refused", ([text, problem]) => {
  expect(() => read(text)).toThrow(problem);
});

test("a sum of many histograms loses nothing to rounding", () => {
  const sum = new HistogramSum(read("{{count:1 sum:1e16 buckets:[1]}}"));
  for (let term = 0; term < 10; term++)
    sum.add(read("{{schema:1 count:1 sum:1 offset:3 buckets:[1]}}"));
  sum.add(read("{{count:1 sum:-1e16 buckets:[1]}}"));
  expect(sum.total()).toMatchObject({ schema: 0, count: 12, sum: 10 });
  expect(allBuckets(sum.total())).toEqual([
    { lower: 0.5, upper: 1, count: 2 },
    { lower: 2, upper: 4, count: 10 },
  ]);
});

test("buckets that a zero bucket covers are neither added nor compared, as in Prometheus", () => {
  const first = read("{{count:9 sum:1 z_bucket:2 z_bucket_w:0.5 offset:-2 buckets:[3 0 4]}}");
  const second = read("{{count:9 sum:1 z_bucket:2 z_bucket_w:0.5 offset:-2 buckets:[2 0 5]}}");
  const counts = [3, 0, 9];
  expect([...(add(first, second)?.histogram.positive.counts ?? [])]).toEqual(counts);
  const sum = new HistogramSum(first);
  sum.add(second);
  expect([...sum.total().positive.counts]).toEqual(counts);
  expect(isReset(second, first)).toBe(false);
});

test("one infinite sum stays infinite", () => {
  expect(new HistogramSum(read("{{count:1 sum:Inf buckets:[1]}}")).total().sum).toBe(Infinity);
});

test("a mean does not overflow where the sum does", () => {
  const mean = new HistogramSum(read("{{count:1 sum:1.5e308 buckets:[1]}}"));
  for (let term = 0; term < 3; term++) mean.addToMean(read("{{count:1 sum:1.5e308 buckets:[1]}}"));
  expect(mean.mean().sum / 1.5e308).toBeCloseTo(1, 12);
  expect(mean.mean().count).toBeCloseTo(1, 12);
});
