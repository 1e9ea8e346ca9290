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

test.each([
  [100, 100, [0, 50, 100]],
  [0, 100, [0, 50, 100]],
  [97, 100, [97, 98, 99, 100]],
  [60, 60, [60, 80]],
  [93, 99.5, [92, 94, 96, 98, 100]],
  [0, 0, [0, 0.5]],
  [100, 130, [100, 110, 120, 130]],
])(
  "an axis of shares from %d to %d %% ends at 100 unless the readings do not",
  (least, most, want) => {
    expect(ticksOf(least, most, 100)).toEqual(want);
  },
);

test("a chart of shares that are all 100 % ends there", () => {
  const shares = { title: "use", unit: "%", kind: "line" as const, labels: ["a", "b"] };
  const svg = chartSvg({ ...shares, series: [{ name: "x", values: [100, 100] }] });
  expect([...svg.matchAll(/text-anchor="end">([^<]+)</g)].map(([, text]) => text)).toEqual([
    "0",
    "50",
    "100",
  ]);
});

test("a value that is absent leaves a gap, and a name cannot break out of the report", () => {
  const chart = { title: "<b>", unit: "W", kind: "line" as const, labels: ["a", "b", "c"] };
  const svg = chartSvg({ ...chart, series: [{ name: "x", values: [1, null, 3] }] });
  expect(svg).not.toContain("<b>");
  expect(svg.match(/M/g)).toHaveLength(2);
  expect(chartSvg({ ...chart, series: [{ name: "x", values: [null] }] })).toBe("");
});
