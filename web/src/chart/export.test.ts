import { expect, test } from "vitest";
import { csvOf, fileName, jsonOf } from "./export.ts";
import type { ChartData, ChartStyle } from "./model.ts";

const look: ChartStyle = { title: "Power", unit: "watts", family: "power" };
const line = (label: string, values: readonly number[]) => ({
  key: label,
  label,
  values: Float64Array.from(values),
  colour: "",
  labels: { gpu: label },
});
const data: ChartData = {
  grid: { startMs: 1_000, endMs: 3_000, stepMs: 1_000 },
  window: { fromMs: 500, toMs: 3_400 },
  lines: [line('a, "b"', [0.1, Number.NaN, 1e-7]), line("=cmd", [0, 612.345, 1e21])],
};

test("the table holds range and unit, numbers as the hub writes them, and nothing where nothing was read", () => {
  expect(csvOf(look, data)).toBe(`# Power
# from 1970-01-01T00:00:00.500Z to 1970-01-01T00:00:03.400Z, step 1 s
# unit watts
time,"a, ""b""",'=cmd
1970-01-01T00:00:01.000Z,0.1,0
1970-01-01T00:00:02.000Z,,612.345
1970-01-01T00:00:03.000Z,1e-07,1e+21
`);
});

test("the file for programs leaves out what was not read", () => {
  expect(JSON.parse(jsonOf(look, data))).toMatchObject({
    unit: "watts",
    stepSeconds: 1,
    series: [
      {
        labels: { gpu: 'a, "b"' },
        points: [
          [1, "0.1"],
          [3, "1e-07"],
        ],
      },
      {
        points: [
          [1, "0"],
          [2, "612.345"],
          [3, "1e+21"],
        ],
      },
    ],
  });
});

test("the file's name says what and from when", () => {
  expect(fileName("Memory: used / total", { fromMs: 0 }, "csv")).toBe(
    "gpulse-memory-used-total-1970-01-01T000000Z.csv",
  );
});
