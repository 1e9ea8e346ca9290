import { expect, test } from "vitest";
import { linePath, summarizePoints } from "./spark-path.ts";

const plot = { width: 8, height: 10, min: 0, max: 10, endSecond: 104 };

test("points span the width, and high values are at the top", () => {
  expect(linePath([0, 5, 10, 5, 0], plot)).toBe("M0 10L2 5L4 0L6 5L8 10");
});

test("values beyond the edges stay on the edge", () => {
  expect(linePath([-5, 99], plot)).toBe("M0 10L8 0");
});

test("a short skip is joined, a gap is left open", () => {
  expect(linePath([5, null, 5], plot)).toBe("M0 5L8 5");
  expect(linePath([5, null, null, null, 5], plot)).toBe("M0 5M8 5");
});

test("nothing read draws nothing", () => {
  expect(linePath([null, null], plot)).toBe("");
});

test("more points than pixels become means over whole spans of the clock", () => {
  const wide = { ...plot, width: 2, endSecond: 3 };
  expect(linePath([0, 10, 4, 6], wide)).toBe("M0.7 5L2 5");
});

test("a span keeps its mean while the window moves on", () => {
  const points = [1, 3, 5, 7, 2, 4];
  const at = (endSecond: number) =>
    linePath(points.slice(0, endSecond + 1).slice(-4), { ...plot, width: 2, endSecond });
  expect(at(3)).toBe("M0.7 8L2 4");
  expect(at(5)).toBe("M0.7 4L2 7");
});

test("a summary leaves gaps out", () => {
  expect(summarizePoints([2, null, 6])).toEqual({ now: 6, min: 2, max: 6, mean: 4 });
  expect(summarizePoints([2, null])?.now).toBeNull();
  expect(summarizePoints([null])).toBeUndefined();
});
