import { expect, test } from "vitest";
import { appendMatrix, gridOf, lengthOf, matrixOf, readNumber, timesOf } from "./columns.ts";

const grid = gridOf(1_500, 6_200, 1_000);
const labels = { gpu: "0" };

test("the grid lies on multiples of the step within the window", () => {
  expect([...timesOf(grid)]).toEqual([2_000, 3_000, 4_000, 5_000, 6_000]);
  expect(lengthOf(gridOf(1_200, 1_300, 1_000))).toBe(1);
});

test.each([
  ["1.5", 1.5],
  ["+Inf", Infinity],
  ["-Inf", -Infinity],
  ["NaN", NaN],
  ["1e-07", 1e-7],
])("%s is read as %d", (text, value) => {
  expect(readNumber(text)).toBe(value);
});

test("an instant the hub left out is a gap, never a zero or the value before", () => {
  const { series } = matrixOf(
    [
      {
        metric: labels,
        values: [
          [2, "1"],
          [5, "0"],
        ],
      },
    ],
    grid,
    [],
  );
  expect([...(series[0]?.values ?? [])]).toEqual([1, NaN, NaN, 0, NaN]);
});

test("a newer answer moves the window, and what it covers is its to say", () => {
  const known = matrixOf(
    [
      {
        metric: labels,
        values: [
          [2, "1"],
          [3, "2"],
          [4, "3"],
          [5, "4"],
          [6, "5"],
        ],
      },
    ],
    grid,
    [],
  );
  const next = gridOf(3_500, 8_200, 1_000);
  const tail = matrixOf(
    [
      {
        metric: labels,
        values: [
          [5, "40"],
          [8, "80"],
        ],
      },
      { metric: { gpu: "1" }, values: [[7, "70"]] },
    ],
    gridOf(5_000, 8_200, 1_000),
    [],
  );
  const joined = appendMatrix(known, tail, next);
  expect(joined.series.map(({ values }) => [...values])).toEqual([
    [3, 40, NaN, NaN, 80],
    [NaN, NaN, NaN, 70, NaN],
  ]);
});

test("a series that has left the window altogether is forgotten", () => {
  const known = matrixOf([{ metric: labels, values: [[2, "1"]] }], grid, []);
  const next = gridOf(3_000, 8_000, 1_000);
  expect(appendMatrix(known, matrixOf([], gridOf(6_000, 8_000, 1_000), []), next).series).toEqual(
    [],
  );
});
