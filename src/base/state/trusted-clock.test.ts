import { expect, test } from "vitest";
import { TrustedClock } from "./trusted-clock.ts";

const [secondMs, hourMs, dayMs] = [1_000, 3_600_000, 86_400_000];
const startMs = 1_790_000_000_000;

function lab(storedMs?: number) {
  const time = { wallMs: startMs, monotonicMs: 5_000 };
  const clock = new TrustedClock({
    nowMs: () => time.wallMs,
    monotonicMs: () => time.monotonicMs,
    startMs: storedMs,
  });
  /** True time passes, observed every five seconds as the store does. */
  const pass = (ms: number): number => {
    let seen = clock.nowMs();
    for (let done = 0; done < ms; done += 5 * secondMs) {
      time.wallMs += 5 * secondMs;
      time.monotonicMs += 5 * secondMs;
      seen = clock.nowMs();
    }
    return seen;
  };
  return { time, clock, pass };
}

test("a steady clock is followed exactly", () => {
  const { pass } = lab();
  expect(pass(2 * hourMs)).toBe(startMs + 2 * hourMs);
});

test("a clock 40 days ahead for 12 seconds moves the trusted time by seconds, and it agrees again at once", () => {
  const { time, clock, pass } = lab();
  time.wallMs += 40 * dayMs;
  expect(pass(15 * secondMs)).toBeLessThanOrEqual(startMs + 30 * secondMs);
  expect(clock.jumpMs).toBeGreaterThan(39 * dayMs);
  time.wallMs -= 40 * dayMs;
  expect(pass(5 * secondMs)).toBe(startMs + 20 * secondMs);
  expect(clock.jumpMs).toBeUndefined();
});

test("a monotonic clock that jumps along counts as one minute", () => {
  const { time, clock } = lab();
  time.wallMs += 40 * dayMs;
  time.monotonicMs += 40 * dayMs;
  expect(clock.nowMs()).toBeLessThanOrEqual(startMs + 120 * secondMs);
});

test("a clock set back is followed at once, and a return does not lose the time that was trusted", () => {
  const { time, clock, pass } = lab();
  time.wallMs -= 40 * dayMs;
  expect(clock.nowMs()).toBe(startMs - 40 * dayMs);
  pass(10 * secondMs);
  time.wallMs += 40 * dayMs;
  expect(clock.nowMs()).toBe(startMs + 10 * secondMs);
});

test("after an hour off, the trusted time catches up in an hour", () => {
  const { clock, pass } = lab(startMs - hourMs);
  expect(clock.nowMs()).toBe(startMs - hourMs);
  expect(pass(hourMs)).toBe(startMs + hourMs);
});

test("a wall clock that stays ahead is adopted after a steady day, and not before", () => {
  const { pass } = lab(startMs - 400 * dayMs);
  expect(pass(23 * hourMs)).toBeLessThan(startMs - 398 * dayMs);
  expect(pass(2 * hourMs)).toBe(startMs + 25 * hourMs);
});

test("a stored time in the future is not believed", () => {
  expect(lab(startMs + dayMs).clock.nowMs()).toBe(startMs);
});
