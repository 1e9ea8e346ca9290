import { expect, test } from "vitest";
import type { HistogramPoint } from "../query/client.ts";
import { heatRows } from "./heat-rows.ts";

const grid = { startMs: 0, endMs: 20_000, stepMs: 10_000 };
const point = (seconds: number, ...buckets: [string, string, string][]): HistogramPoint => [
  seconds,
  { count: "1", sum: "1", buckets: buckets.map(([a, b, n]) => [0, a, b, n] as const) },
];

test("rows lie between all bounds, in order, from the negative ones to infinity", () => {
  const { bounds, columns, highest } = heatRows(
    [point(0, ["1", "2", "4"], ["-2", "-1", "3"]), point(20, ["2", "+Inf", "7"])],
    grid,
  );
  expect(bounds).toEqual([-2, -1, 1, 2, Number.POSITIVE_INFINITY]);
  expect(columns.map((rows) => rows && [...rows])).toEqual([[3, 0, 4, 0], undefined, [0, 0, 0, 7]]);
  expect(highest).toBe(7);
});

test("a wide bucket shares its count among the rows of a finer histogram", () => {
  const { columns } = heatRows(
    [point(0, ["1", "4", "6"]), point(10, ["1", "2", "1"], ["2", "4", "2"])],
    grid,
  );
  expect(columns.slice(0, 2).map((rows) => rows && [...rows])).toEqual([
    [3, 3],
    [1, 2],
  ]);
});

test("without histograms there is nothing to draw", () =>
  expect(heatRows([], grid)).toMatchObject({ bounds: [], highest: 0 }));
