import { expect, test } from "vitest";
import { dashOf } from "./dash.ts";
import { extentOf, type LabelledLine, placeLabels } from "./line-labels.ts";
import type { ChartLine } from "./model.ts";

const area = { widthPx: 400, heightPx: 150, rowPx: 13 };

/** A line through points of x and y; undefined is a gap. */
const labelled = (key: string, ...points: (readonly [number, number | undefined])[]) => ({
  key,
  text: key,
  textPx: 60,
  extent: extentOf(points, area.widthPx),
});
const flat = (key: string, y: number, endX = 400): LabelledLine => labelled(key, [0, y], [endX, y]);
const place = (...lines: readonly LabelledLine[]) =>
  placeLabels(
    lines,
    lines.map(({ extent }) => extent),
    area,
  );

test("a line covers the columns that it crosses, and no gap", () => {
  const { top, bottom } = extentOf(
    [
      [0, 10],
      [2, 30],
      [3, undefined],
      [5, 7],
    ],
    6,
  );
  expect([...top]).toEqual([10, 20, 30, Number.NaN, Number.NaN, 7]);
  expect([...bottom]).toEqual([20, 30, 30, Number.NaN, Number.NaN, 7]);
});

test("a name stands directly above the end of its line, or below it at the upper edge", () => {
  expect(place(flat("low", 100), flat("high", 4))).toMatchObject([
    { key: "low", left: 338, top: 100 - 2 - 13 },
    { key: "high", left: 338, top: 4 + 2 },
  ]);
  // The padding above the plot has room for one at the very top.
  expect(place(flat("top", 8))).toMatchObject([{ top: 8 - 2 - 13 }]);
});

test("two lines at the same value have their names on both sides of it", () => {
  const [above, below] = place(flat("one", 80), flat("other", 80));
  expect(above?.top).toBe(65);
  expect(below?.top).toBe(82);
});

test("between two lines, a name stands nearer to its own", () => {
  const placed = place(flat("upper", 60), flat("lower", 77));
  expect(placed).toMatchObject([
    { key: "upper", top: 60 - 2 - 13 },
    { key: "lower", top: 77 + 2 },
  ]);
});

test("a name covers no line and no other name, and stays within 16 pixels of its own line", () => {
  const lines = [20, 31, 40, 60, 66, 75, 120, 140].map((y, at) => flat(`line ${at}`, y));
  const placed = place(...lines);
  expect(placed.length).toBeGreaterThan(3);
  for (const { key, left, top, leader } of placed) {
    const own =
      lines.find((line) => line.key === key)?.extent.top[Math.round(left) + 30] ?? Number.NaN;
    const gap = own < top ? own - top : own - (top + area.rowPx);
    expect(Math.abs(gap)).toBeLessThanOrEqual(16);
    expect(leader === undefined, key).toBe(Math.abs(gap) <= 2);
    for (const line of lines) {
      const y = line.extent.top[Math.round(left) + 30] ?? Number.NaN;
      expect(y > top && y < top + area.rowPx, `${key} on ${line.key}`).toBe(false);
    }
    for (const other of placed.filter((one) => one.key !== key && Math.abs(one.left - left) < 60))
      expect(Math.abs(other.top - top)).toBeGreaterThanOrEqual(area.rowPx);
  }
});

test("a name that has no place at its line is left out, not moved to another line", () => {
  const lines = Array.from({ length: 30 }, (_, at) => flat(`line ${at}`, at * 5));
  expect(place(...lines)).toEqual([]);
  const jagged = labelled(
    "jagged",
    ...Array.from({ length: 80 }, (_, at) => [at * 5, at % 2 === 0 ? 10 : 140] as const),
  );
  expect(place(jagged)).toEqual([]);
});

test("a line that ended has its name where it ended, and one without readings has none", () => {
  const [lost] = place(flat("lost", 80, 200), flat("alive", 100));
  expect(lost).toMatchObject({ key: "lost", left: 140, top: 65 });
  expect(place(labelled("never", [0, undefined], [400, undefined]))).toEqual([]);
  // It ended before the left part of the plot has room for a name.
  expect(place(flat("long ago", 80, 30))).toEqual([]);
  // A short line that began lately has its name at its end or none, not where it has no readings.
  const short = labelled("short", [370, 75], [399, 75]);
  const wall = labelled("wall", [380, 0], [385, 150]);
  expect(placeLabels([short], [short.extent], area)).toMatchObject([{ left: 338 }]);
  expect(placeLabels([short], [short.extent, wall.extent], area)).toEqual([]);
});

test("a name goes back along its line to where it is free, at most 160 pixels, and stays there", () => {
  const busy = labelled("busy", [200, 10], [300, 140], [310, 10], [380, 140], [390, 10]);
  const level = flat("level", 75);
  const [found] = placeLabels([level], [level.extent, busy.extent], area);
  expect(found?.left).toBeLessThan(330);
  const slots = new Map([["level", { slidePx: 112, gapPx: 2, isAbove: false }]]);
  expect(placeLabels([level], [level.extent], area, slots)[0]).toMatchObject({
    left: 226,
    top: 77,
  });
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
  const dashes = lines.map((_, at) => dashOf(lines, at).join(" "));
  expect(dashes[0]).toBe("4 4");
  expect(dashes[9]).toBe("4 4");
  expect(dashes[1]).toBe("");
  expect(new Set(dashes).size).toBe(9);
});
