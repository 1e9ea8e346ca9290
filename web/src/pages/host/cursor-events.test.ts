import { expect, test } from "vitest";
import { findEventsAt } from "./cursor-events.ts";

const events = [{ timeMs: 10_000 }, { timeMs: 60_000, endMs: 80_000 }, { timeMs: 200_000 }];
const at = (cursorMs: number | undefined) => {
  const found = findEventsAt(events, cursorMs, 300_000);
  return [[...found.at], found.nearest];
};

test.each([
  [undefined, [], undefined],
  [11_000, [0], 0],
  [14_000, [], 0],
  [70_000, [1], 1],
  [82_000, [1], 1],
  [150_000, [], 2],
])("at %s ms: %j, the nearest is %s", (cursorMs, near, nearest) => {
  expect(at(cursorMs)).toEqual([near, nearest]);
});

test("nothing is near in an empty list", () => {
  expect(findEventsAt([], 1_000, 300_000)).toEqual({ at: new Set(), nearest: undefined });
});
