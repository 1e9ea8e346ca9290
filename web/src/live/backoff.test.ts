import { expect, test } from "vitest";
import { retryDelayMs } from "./backoff.ts";

test.each([
  [1, 0, 375],
  [1, 0.999, 500],
  [2, 0.999, 1_000],
  [4, 0.999, 3_999],
  [50, 0.999, 9_998],
])("after %i failures with chance %d it waits %i ms", (failures, random, ms) => {
  expect(retryDelayMs(failures, random)).toBe(ms);
});
