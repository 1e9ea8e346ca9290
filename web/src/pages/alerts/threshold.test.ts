import { expect, test } from "vitest";
import { parseThreshold, type ThresholdExpression } from "./threshold.ts";

test.each<[string, ThresholdExpression]>([
  ["gpu_temperature_celsius > 85", { left: "gpu_temperature_celsius", op: ">", level: 85 }],
  ["85 < gpu_temperature_celsius", { left: "gpu_temperature_celsius", op: ">", level: 85 }],
  ["(a >= bool -1.5e3)", { left: "a", op: ">=", level: -1500 }],
  ["a == 0 or b == 0", { left: "a", op: "==", level: 0 }],
  ["(x < 0.5 and on (uuid) y > 3) unless z", { left: "x", op: "<", level: 0.5 }],
  ['up{job=~".*a>b.*"} == 0', { left: 'up{job=~".*a>b.*"}', op: "==", level: 0 }],
  ["a > on (uuid) group_left (x) 0.9 * b", { left: "a", op: ">", right: "0.9 * b" }],
  ["(a and b) >= (c - 5)", { left: "a and b", op: ">=", right: "c - 5" }],
  ["absent(up)", { left: "absent(up)" }],
  ["sum(a > 3)", { left: "sum(a > 3)" }],
  [
    "max_over_time(orange_total[5m]) > 1",
    { left: "max_over_time(orange_total[5m])", op: ">", level: 1 },
  ],
  ["time() - a < 600", { left: "time() - a", op: "<", level: 600 }],
])("%s", (expr, compared) => {
  expect(parseThreshold(expr)).toEqual(compared);
});
