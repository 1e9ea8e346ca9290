import { expect, test } from "vitest";
import type { ApiHistogramPoint } from "../query/client.ts";
import { bucketRows, heatRows } from "./heat-rows.ts";

const grid = { startMs: 0, endMs: 20_000, stepMs: 10_000 };
const point = (seconds: number, ...buckets: [string, string, string][]): ApiHistogramPoint => [
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

test("buckets by le become the same rows: counts between two bounds, summed over label sets", () => {
  const bucket = (le: string, ...values: number[]) => ({
    labels: { le },
    values: Float64Array.from(values),
  });
  const { bounds, columns, highest } = bucketRows([
    bucket("+Inf", 9, Number.NaN),
    bucket("0.5", 1, Number.NaN),
    bucket("1", 3, Number.NaN),
    bucket("1", 1, Number.NaN),
    { labels: { other: "x" }, values: Float64Array.from([5, 5]) },
  ]);
  expect(bounds).toEqual([0, 0.5, 1, Number.POSITIVE_INFINITY]);
  expect(columns.map((one) => one && [...one])).toEqual([[1, 3, 5], undefined]);
  expect(highest).toBe(5);
  expect(bucketRows([])).toEqual({ bounds: [], columns: [], highest: 0 });
});
