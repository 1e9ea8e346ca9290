import { expect, test } from "vitest";

import { afterWarmUp, floors, grows, leaks, type Point, trendOf } from "./trend.ts";

const points = (count: number, y: (index: number) => number): Point[] =>
  Array.from({ length: count }, (_, index) => ({ x: index / 10, y: y(index) }));

test("a steady rise is reported per hour, whatever peaks stand on it", () => {
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

test("of three points nothing is reported, and the warm-up is left out", () => {
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

const MB = 1e6;
const LIMIT = 0.5 * MB;
/** Hourly megabytes in use after a collection of a hub that does not leak. The step up is the sealing of its first head. */
const settled = [
  38.1, 38.9, 39.1, 39.2, 39.3, 39.3, 39.4, 39.5, 39.5, 39.6, 39.6, 39.7, 39.7, 51.9, 52.4, 52.5,
  52.5, 52.6, 52.5, 52.6, 52.6, 52.7, 52.7, 52.7, 52.8, 52.8, 52.8, 52.8, 53.0, 53.1, 53.1, 53.2,
];
const hourly = (megabytes: readonly number[], leakPerHour = 0, fromHour = 0): Point[] =>
  megabytes.map((value, hour) => ({
    x: hour + 1,
    y: value * MB + Math.max(0, hour - fromHour) * leakPerHour,
  }));

test.each<[string, readonly Point[], boolean]>([
  ["a hub that settles", hourly(settled), false],
  ["the same with 2.6 MB an hour", hourly(settled, 2.6 * MB), true],
  ["the same with 1 MB an hour", hourly(settled, MB), true],
  ["one that leaks after 12 quiet hours", hourly(settled, 2.6 * MB, 12), true],
  [
    "a plateau reached late",
    hourly(settled.map((value, hour) => (hour < 18 ? 40 : value + 30))),
    false,
  ],
  [
    "a leak under a saw",
    hourly(
      settled.map((value, hour) => value + (hour % 6) * 2),
      2.6 * MB,
    ),
    true,
  ],
  ["a saw without a leak", hourly(settled.map((value, hour) => value + (hour % 6) * 2)), false],
  ["a heap that shrinks", hourly(settled.toReversed()), false],
])("%s", (_, trace, isLeak) => {
  expect(leaks(trace, LIMIT)).toBe(isLeak);
});
