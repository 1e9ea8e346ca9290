import { expect, test } from "vitest";
import { SlowCallScheduler } from "./slow-call-scheduler.ts";

function passing(everyMs: number): SlowCallScheduler {
  const scheduler = new SlowCallScheduler();
  for (const timeMs of [0, everyMs, 2 * everyMs, 3 * everyMs]) scheduler.passed(timeMs);
  return scheduler;
}

test("a call that is due is made at once where nobody reads yet", () => {
  expect(new SlowCallScheduler().waitMs(1_000, 500, 21)).toBe(0);
  expect(new SlowCallScheduler().waitMs(1_000, 1_300, 21)).toBe(300);
});

test("a call that would run into the next pass waits until it is over", () => {
  const scheduler = passing(1_000);
  expect(scheduler.waitMs(3_500, 0, 21)).toBe(0);
  expect(scheduler.waitMs(3_985, 0, 21)).toBe(16);
  expect(scheduler.waitMs(3_100, 3_990, 21)).toBe(901);
});

test("between passes that follow closely there is room for one call", () => {
  const scheduler = passing(100);
  expect(scheduler.waitMs(310, 0, 4)).toBe(0);
  scheduler.called(314);
  expect(scheduler.waitMs(315, 0, 4)).toBe(86);
  expect(scheduler.waitMs(402, 0, 4)).toBe(5);
  scheduler.passed(403);
  expect(scheduler.waitMs(404, 0, 4)).toBe(0);
});

test("between passes far apart calls follow each other with a rest", () => {
  const scheduler = passing(1_000);
  scheduler.called(3_100);
  expect(scheduler.waitMs(3_101, 0, 21)).toBe(49);
});

test("a call longer than the gap is made right after a pass, not put off for ever", () => {
  const scheduler = passing(10);
  expect(scheduler.waitMs(31, 0, 21)).toBe(0);
});

test("one late pass does not change the rhythm, and a reader that has gone holds nothing up", () => {
  const scheduler = passing(100);
  scheduler.passed(1_000);
  expect(scheduler.waitMs(1_095, 0, 21)).toBe(6);
  expect(scheduler.waitMs(5_000, 0, 21)).toBe(0);
});
