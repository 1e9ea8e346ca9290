import { expect, test } from "vitest";
import { withNewest } from "./stat-columns.ts";

test.each([
  ["max", 61, 63, 63],
  ["max", 61, 40, 61],
  ["min", 30, 28, 28],
  ["avg", 48, 63, 48],
  ["max", 61, "stale", 61],
] as const)("%s %d beside %s now is %d", (name, own, newest, shown) =>
  expect(withNewest(name, own, newest)).toBe(shown),
);
