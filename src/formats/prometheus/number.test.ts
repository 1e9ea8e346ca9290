import { expect, test } from "vitest";
import { formatValue } from "./page.ts";

// The `value` that Prometheus 2.42 returns for these in an instant query.
test.each([
  [0, "0"],
  [-0, "-0"],
  [1e-7, "1e-07"],
  [-2.5e-9, "-2.5e-09"],
  [1e-6, "0.000001"],
  [5e-324, "5e-324"],
  [1e20, "100000000000000000000"],
  [1e21, "1e+21"],
  [0.1, "0.1"],
  [Infinity, "+Inf"],
  [-Infinity, "-Inf"],
  [NaN, "NaN"],
])("%d is written as %s", (value, text) => {
  expect(formatValue(value)).toBe(text);
});
