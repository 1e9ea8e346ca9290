import { expect, test } from "vitest";
import { dashOf } from "./dash.ts";
import type { ChartLine } from "./model.ts";
import { spreadLabels } from "./line-labels.ts";

const at = (...ys: readonly number[]) =>
  spreadLabels(
    ys.map((y) => ({ text: "", colour: "", y })),
    100,
    10,
  ).map(({ y }) => y);

test("names that would cover each other move apart and stay inside", () => {
  expect(at(50, 51, 90)).toEqual([50, 60, 90]);
  expect(at(99, 98, 97)).toEqual([80, 90, 100]);
  expect(at(0, 2)).toEqual([10, 20]);
});

const line = (dashed: boolean): ChartLine => ({
  key: "",
  label: "",
  values: new Float64Array(),
  colour: "",
  dashed,
});

test("eight lines are dashed in eight ways, limits all alike", () => {
  const lines = [line(true), ...Array.from({ length: 8 }, () => line(false)), line(true)];
  const dashes = lines.map((_, place) => dashOf(lines, place).join(" "));
  expect(dashes[0]).toBe("4 4");
  expect(dashes[9]).toBe("4 4");
  expect(dashes[1]).toBe("");
  expect(new Set(dashes).size).toBe(9);
});
