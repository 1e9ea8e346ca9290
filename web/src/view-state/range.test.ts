import { expect, test } from "vitest";
import {
  type Range,
  rangeBetween,
  readDuration,
  readRange,
  shiftRange,
  windowOf,
  writeDuration,
  writeRange,
  zoomOutRange,
} from "./range.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const from = (query: string): Range => {
  const params = new URLSearchParams(query);
  return readRange((name) => params.get(name));
};
const NOON = Date.parse("2026-07-31T12:00:00Z");

test.each<[string, number | undefined]>([
  ["5m", 5 * MINUTE],
  ["1h30m", 90 * MINUTE],
  ["30d", 30 * DAY],
  ["2w", 14 * DAY],
  ["3s", undefined],
  ["900d", undefined],
  ["5", undefined],
  ["", undefined],
  ["m", undefined],
])("the duration %j is %s ms", (text, ms) => {
  expect(readDuration(text)).toBe(ms);
});

test.each([5 * MINUTE, HOUR, DAY, 90 * MINUTE, 7 * DAY, 61_000])(
  "%i ms come back from their text",
  (ms) => {
    expect(readDuration(writeDuration(ms))).toBe(ms);
  },
);

test.each<[string, Range]>([
  ["", { kind: "last", ms: HOUR }],
  ["range=15m", { kind: "last", ms: 15 * MINUTE }],
  ["range=nonsense", { kind: "last", ms: HOUR }],
  [
    "from=2026-07-31T12:00:00Z&to=2026-07-31T13:00:00Z",
    { kind: "between", fromMs: NOON, toMs: NOON + HOUR },
  ],
  [`from=${NOON}&to=${NOON + 1_500}`, { kind: "between", fromMs: NOON, toMs: NOON + 1_500 }],
  ["from=2026-07-31T13:00:00Z&to=2026-07-31T12:00:00Z&range=6h", { kind: "last", ms: 6 * HOUR }],
])("the address %j means the same range when it is written again", (query, range) => {
  expect(from(query)).toEqual(range);
  const again = new URLSearchParams();
  for (const [name, value] of Object.entries(writeRange(range)))
    if (typeof value === "string") again.set(name, value);
  expect(from(again.toString())).toEqual(range);
});

test("the default range is left out of the address", () => {
  expect(writeRange({ kind: "last", ms: HOUR })).toEqual({
    range: undefined,
    from: undefined,
    to: undefined,
  });
});

test("what is dragged from right to left is the same as from left to right, and never too short to draw", () => {
  expect(rangeBetween(NOON + HOUR, NOON)).toEqual({
    kind: "between",
    fromMs: NOON,
    toMs: NOON + HOUR,
  });
  const { fromMs, toMs } = windowOf(rangeBetween(NOON, NOON + 1), NOON);
  expect(toMs - fromMs).toBeGreaterThanOrEqual(10_000);
});

test("zooming out doubles the range around its middle, and at the present it follows again", () => {
  expect(zoomOutRange({ kind: "between", fromMs: NOON, toMs: NOON + HOUR }, NOON + DAY)).toEqual({
    kind: "between",
    fromMs: NOON - HOUR / 2,
    toMs: NOON + 1.5 * HOUR,
  });
  expect(zoomOutRange({ kind: "between", fromMs: NOON, toMs: NOON + HOUR }, NOON + HOUR)).toEqual({
    kind: "last",
    ms: 3 * HOUR,
  });
});

test("going back is by half a window, and nobody goes beyond the present", () => {
  const hour: Range = { kind: "last", ms: HOUR };
  expect(shiftRange(hour, -1, NOON)).toEqual({
    kind: "between",
    fromMs: NOON - 1.5 * HOUR,
    toMs: NOON - HOUR / 2,
  });
  expect(shiftRange(hour, 1, NOON)).toBe(hour);
});
