import { expect, test } from "vitest";
import { refreshMsFor, stepMsFor } from "./step.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

test.each([
  [5 * MINUTE, 600, 1_000],
  [HOUR, 600, 15_000],
  [HOUR, 1_200, 10_000],
  [DAY, 600, 300_000],
  [30 * DAY, 600, 21_600_000],
  [HOUR, 20, 120_000],
])("%i ms over %i pixels are points %i ms apart", (rangeMs, widthPx, stepMs) => {
  expect(stepMsFor(rangeMs, widthPx)).toBe(stepMs);
});

test.each([10_000, HOUR, DAY, 366 * DAY])(
  "%i ms never need more points than the hub gives",
  (rangeMs) => {
    expect(rangeMs / stepMsFor(rangeMs, 100_000)).toBeLessThanOrEqual(11_000);
  },
);

test("points are no closer than the samples", () => {
  expect(stepMsFor(5 * MINUTE, 1_000, 15_000)).toBe(15_000);
});

test("a live view of minutes asks every second, one of days every minute, and a paused one never", () => {
  expect(refreshMsFor("auto", 5 * MINUTE)).toBe(1_000);
  expect(refreshMsFor("auto", 7 * DAY)).toBe(60_000);
  expect(refreshMsFor("off", HOUR)).toBe(undefined);
  expect(refreshMsFor("30s", HOUR)).toBe(30_000);
});
