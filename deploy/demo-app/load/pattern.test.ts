import { expect, test } from "vitest";

import { seeded } from "../run/seeded.ts";
import { nextArrival, type Pattern, rateAt, Schedule } from "./pattern.ts";

const flat: Pattern = {
  rate: 10,
  daySeconds: 600,
  swing: 0,
  burstsPerDay: 0,
  burstFactor: 3,
  burstShare: 0.01,
};

test("a day is quiet at midnight and busy at noon, and the next day is the same", () => {
  const daily = { ...flat, swing: 0.7 };
  expect(rateAt(daily, 0)).toBeCloseTo(3);
  expect(rateAt(daily, 150)).toBeCloseTo(10);
  expect(rateAt(daily, 300)).toBeCloseTo(17);
  expect(rateAt(daily, 900)).toBeCloseTo(17);
});

test("bursts take their share of the day", () => {
  const bursty = { ...flat, burstsPerDay: 4 };
  const seconds = Array.from({ length: 6_000 }, (_, index) => index / 10);
  const inBurst = seconds.filter((second) => rateAt(bursty, second) > 10);
  expect(inBurst.length / seconds.length).toBeCloseTo(0.04, 2);
  expect(rateAt(bursty, 75)).toBe(30);
});

test("arrivals are Poisson: the mean and the spread of a minute's count are the rate", () => {
  const schedule = new Schedule(flat, 0, seeded(1));
  const counts = Array.from({ length: 2_000 }, (_, index) => schedule.take(index + 1).length);
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  expect(mean).toBeGreaterThan(9.7);
  expect(mean).toBeLessThan(10.3);
  expect(variance).toBeGreaterThan(8.5);
  expect(variance).toBeLessThan(11.5);
});

test("a loop that was held up has every arrival it missed, at the moment it was due", () => {
  const often = new Schedule(flat, 0, seeded(2));
  const held = new Schedule(flat, 0, seeded(2));
  const small = Array.from({ length: 3_000 }, (_, index) => often.take((index + 1) / 100)).flat();
  expect(held.take(30)).toEqual(small);
  expect(small.length).toBeGreaterThan(200);
});

test("with a rate of 0 nothing is ever due, and a new rate counts from now", () => {
  expect(nextArrival({ ...flat, rate: 0 }, 5, seeded(3))).toBe(Infinity);
  const schedule = new Schedule({ ...flat, rate: 0 }, 0, seeded(3));
  schedule.change(flat, 100);
  expect(schedule.nextSeconds).toBeGreaterThan(100);
  expect(schedule.take(110).length).toBeGreaterThan(50);
});
