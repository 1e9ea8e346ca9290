import { expect, test } from "vitest";
import { allBuckets, boundOf } from "./histogram.ts";
import { HistogramObserver } from "./observer.ts";

test("an observation is in the bucket whose bounds are around it, a bound in the bucket it ends", () => {
  for (let index = -200; index < 200; index++) {
    const bound = boundOf(index, 3, new Float64Array(0));
    for (const [value, want] of [
      [bound, index],
      [bound * (1 + 1e-12), index + 1],
      [bound * (1 - 1e-12), index],
    ] as const) {
      const observer = new HistogramObserver();
      observer.observe(value);
      expect([...observer.histogram().positive.indexes], `${value}`).toEqual([want]);
    }
  }
});

test("count, sum and zero bucket are those of all observations", () => {
  const observer = new HistogramObserver();
  for (const value of [0, 0.25, 0.25, 3, 1e-200]) observer.observe(value);
  const histogram = observer.histogram();
  expect(histogram).toMatchObject({ count: 5, sum: 3.5, zeroCount: 2, schema: 3 });
  expect(allBuckets(histogram).reduce((sum, { count }) => sum + count, 0)).toBe(5);
  expect([...histogram.positive.counts]).toEqual([2, 1]);
});
