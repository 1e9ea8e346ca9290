import { expect, test } from "vitest";
import { chartSvg, ticksOf } from "./chart.ts";

test.each([
  [0, 100, [0, 50, 100]],
  [3, 17, [0, 5, 10, 15, 20]],
  [50, 50, [40, 60]],
])("round numbers enclose %d to %d", (least, most, want) => {
  const ticks = ticksOf(least, most);
  expect(ticks[0]).toBeLessThanOrEqual(least);
  expect(ticks.at(-1)).toBeGreaterThanOrEqual(most);
  expect(ticks).toEqual(want);
});

test("a value that is absent leaves a gap, and a name cannot break out of the report", () => {
  const chart = { title: "<b>", unit: "W", kind: "line" as const, labels: ["a", "b", "c"] };
  const svg = chartSvg({ ...chart, series: [{ name: "x", values: [1, null, 3] }] });
  expect(svg).not.toContain("<b>");
  expect(svg.match(/M/g)).toHaveLength(2);
  expect(chartSvg({ ...chart, series: [{ name: "x", values: [null] }] })).toBe("");
});
