import { expect, test } from "vitest";

import { type Bucket, quantileBucket, quantileOf } from "./buckets.ts";

const some: readonly Bucket[] = [
  [0.1, 50],
  [1, 90],
  [10, 98],
  [Infinity, 100],
];

test("a quantile is found in its bucket and read linearly within it", () => {
  expect(quantileBucket(some, 0.5)).toBe(0);
  expect(quantileOf(some, 0.25)).toBeCloseTo(0.05);
  expect(quantileOf(some, 0.7)).toBeCloseTo(0.55);
  expect(quantileOf(some, 0.9)).toBeCloseTo(1);
});

test("above the highest bound there is only that bound to tell", () => {
  expect(quantileBucket(some, 0.99)).toBe(3);
  expect(quantileOf(some, 0.99)).toBe(10);
});

test("nothing counted is no quantile, not 0", () => {
  expect(quantileOf([[1, 0]], 0.5)).toBeUndefined();
  expect(quantileOf([], 0.5)).toBeUndefined();
});
