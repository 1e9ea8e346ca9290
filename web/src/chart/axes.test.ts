import { expect, test } from "vitest";
import { fitTexts, logRange, logTexts, timeSpacePx, valueRange, valueTexts } from "./axes.ts";
import { ticksOf } from "./ticks.ts";

test("all ticks of an axis share one unit", () => {
  expect(valueTexts([0, 2 ** 29, 2 ** 30, 3 * 2 ** 29], "bytes")).toEqual([
    "0.0 GiB",
    "0.5 GiB",
    "1.0 GiB",
    "1.5 GiB",
  ]);
  expect(valueTexts([0, 0.25, 0.5], "ratio")).toEqual(["0 %", "25 %", "50 %"]);
});

test("a logarithmic axis of few decades has one unit too, and one of many has several", () => {
  expect(logTexts([1e8, 7e8, null, 1e9, 1e10], "hertz")).toEqual([
    "0.1 GHz",
    "0.7 GHz",
    "",
    "1 GHz",
    "10 GHz",
  ]);
  expect(logTexts([1, 500, 1_000], "watts")).toEqual(["1 W", "500 W", "1\u202f000 W"]);
  expect(logTexts([1, 1e6], "bytes_per_second")).toEqual(["1\u00a0B/s", "1\u00a0MB/s"]);
});

test("ticks are not rounded into other numbers", () => {
  expect(valueTexts([50, 52.5, 55], "celsius")).toEqual(["50.0 °C", "52.5 °C", "55.0 °C"]);
});

test("given edges hold while the data keeps to them, and give way when it does not", () => {
  expect(valueRange([0.2, 0.9], { min: 0, max: 1 }, [])).toEqual([0, 1]);
  expect(valueRange([0.2, 1.4], { min: 0, max: 1 }, [])[1]).toBeGreaterThan(1.4);
});

test("time labels keep apart, also with seconds and in the larger type of a wall", () => {
  const minute = 60_000;
  const desktop = { plotPx: 400, fontPx: 11, isNarrow: false };
  const room = { plotPx: 160, fontPx: 11, isNarrow: true };
  expect(timeSpacePx(60 * minute, desktop)).toBe(72);
  expect(timeSpacePx(60 * minute, room)).toBe(52);
  expect(timeSpacePx(minute, room)).toBe(72);
  expect(timeSpacePx(minute, { ...desktop, fontPx: 14 })).toBeGreaterThan("13:05:00".length * 9);
});

test("limits are in sight", () => {
  expect(valueRange([40, 60], {}, [89])[1]).toBeGreaterThan(89);
});

test("a flat line has room around it", () => {
  const [min, max] = valueRange([5, 5], {}, []);
  expect(max).toBeGreaterThan(5);
  expect(min).toBeLessThan(5);
});

test("a line of zeros stands on an axis from nothing to one", () => {
  expect(valueRange([0, 0], { min: 0 }, [])).toEqual([0, 1]);
  expect(valueRange([0, 0], {}, [])).toEqual([0, 1]);
});

test.each([
  [3_600_000, 6, 600_000],
  [300_000, 10, 30_000],
  [86_400_000, 8, 10_800_000],
])("%i ms with room for %i texts have one every %i ms", (span, most, everyMs) => {
  const ticks = ticksOf(1_000, 1_000 + span, most);
  expect(ticks.everyMs).toBe(everyMs);
  expect(ticks.atMs.length).toBeLessThanOrEqual(most + 1);
});

test("a label that the right edge would cut off is blank, the others stay", () => {
  const sizes = { plotPx: 500, rightPx: 16, fontPx: 11 };
  expect(fitTexts(["02:06:50", "02:07:00", "02:07:10"], [0, 0.5, 1], sizes)).toEqual([
    "02:06:50",
    "02:07:00",
    "",
  ]);
  expect(fitTexts(["02:07"], [1], { ...sizes, rightPx: 20 })).toEqual(["02:07"]);
});

test("a logarithmic axis has the powers of ten around its values, also around one value", () => {
  expect(logRange(0.7, 320)).toEqual([0.1, 1_000]);
  expect(logRange(3.2e9, 3.2e9)).toEqual([1e9, 1e10]);
  expect(logRange(1_000, 1_000)).toEqual([1_000, 10_000]);
  expect(logRange(null, null)).toEqual([1, 10]);
});
