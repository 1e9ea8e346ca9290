import { expect, test } from "vitest";

import { afterWarmUp, floors, grows, trendOf } from "./trend.ts";
import type { Point } from "./trend.ts";

const points = (count: number, y: (index: number) => number): Point[] =>
  Array.from({ length: count }, (_, index) => ({ x: index / 10, y: y(index) }));

test("a steady rise is told per hour, whatever peaks stand on it", () => {
  const rising = points(60, (index) => 100 + index + (index % 7 === 0 ? 500 : 0));
  expect(trendOf(rising)?.perHour).toBeCloseTo(10, 0);
});

test("a heap that breathes has no trend", () => {
  const breathing = points(60, (index) => 100e6 + (index % 10) * 2e6);
  const trend = trendOf(breathing);
  expect(trend !== undefined && grows(trend, 5e6, 0.1)).toBe(false);
});

test("a leak is growth", () => {
  const trend = trendOf(points(60, (index) => 50e6 + index * 1e6));
  expect(trend !== undefined && grows(trend, 15e6, 0.15)).toBe(true);
});

test("of three points nothing is told, and the warm-up is left out", () => {
  expect(trendOf(points(3, () => 1))).toBeUndefined();
  expect(afterWarmUp(points(9, (index) => index)).map(({ y }) => y)).toEqual([3, 4, 5, 6, 7, 8]);
});

test("the floor under a daily pattern shows a leak, and not the day", () => {
  const day = (index: number): number => 30 * (1 + Math.sin(index / 2));
  const floorOf = (leak: number) =>
    trendOf(
      floors(
        points(120, (index) => 100 + day(index) + leak * index),
        10,
      ),
    )?.total ?? 0;
  expect(Math.abs(floorOf(0))).toBeLessThan(3);
  expect(floorOf(1)).toBeGreaterThan(90);
});
