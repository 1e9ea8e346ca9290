import { expect, test } from "vitest";
import { clockEveryMs, nextClockReadMs, TimeMean } from "./sm-clock.ts";

test("a mean weighs each reading by the time since the one before", () => {
  const mean = new TimeMean();
  mean.add(1_980, 0);
  mean.add(1_980, 900);
  mean.add(1_000, 1_000);
  expect(mean.finish()).toBe(1_882);
});

test("one reading alone is its own mean, and none has none", () => {
  const mean = new TimeMean();
  expect(mean.finish()).toBeUndefined();
  mean.add(1_500, 5_000);
  expect(mean.finish()).toBe(1_500);
  expect(mean.finish()).toBeUndefined();
});

test("time goes on over the end of a period, not over a sleep or a clock that is set back", () => {
  const mean = new TimeMean();
  mean.add(1_000, 0);
  mean.add(1_000, 100);
  mean.finish();
  mean.add(2_000, 200);
  expect(mean.finish()).toBe(2_000);
  mean.add(500, 100);
  mean.add(700, 3_600_000);
  mean.add(900, 3_600_100);
  expect(mean.finish()).toBe(900);
});

test("every interval has one reading, at an instant that chance decides", () => {
  const times: number[] = [];
  for (let nowMs = 7, turn = 0; turn < 1_000; turn++) {
    nowMs = nextClockReadMs(nowMs, ((turn * 61) % 100) / 100);
    times.push(nowMs);
  }
  const intervals = times.map((timeMs) => Math.floor(timeMs / clockEveryMs));
  expect(intervals).toEqual(intervals.map((_, turn) => turn + 1));
  const parts = new Set(times.map((timeMs) => Math.floor(((timeMs / clockEveryMs) % 1) * 10)));
  expect(parts.size).toBe(10);
});
