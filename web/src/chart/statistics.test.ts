import { expect, test } from "vitest";
import { shareOn, findStateSpans } from "./spans.ts";
import { statisticsOf } from "./statistics.ts";

const of = (...values: number[]) => Float64Array.from(values);
const line = (...values: number[]) => ({
  key: "a",
  label: "a",
  colour: "red",
  values: of(...values),
});
const live = { isPast: false };

test("a gap counts for nothing: it is no zero in the least or the mean", () => {
  expect(statisticsOf(line(4, NaN, NaN, 8), live)).toEqual({
    newest: 8,
    min: 4,
    max: 8,
    mean: 6,
    count: 2,
    gaps: 1,
  });
});

test("what was last read a while ago is not now", () => {
  expect(statisticsOf(line(4, 5, NaN, NaN), live)?.newest).toBe(undefined);
  expect(statisticsOf(line(4, 5, NaN), live)?.newest).toBe(5);
  expect(statisticsOf(line(4, 5, NaN, NaN), { isPast: true })?.newest).toBe(5);
});

test("without a reading there is nothing to say", () => {
  expect(statisticsOf(line(NaN, NaN), live)).toBe(undefined);
});

test("what the store has of every sample replaces what the points show", () => {
  const stored = { newest: 9, min: 1, max: 12, mean: 5 };
  expect(statisticsOf(line(4, 8), { isPast: false, stored: () => stored })).toEqual({
    ...stored,
    count: 2,
    gaps: 0,
  });
});

test("states become stretches, and what nobody read is neither on nor off", () => {
  const grid = { startMs: 10, endMs: 14, stepMs: 1 };
  const found = findStateSpans(of(1, 1, NaN, NaN, 0), grid);
  expect(found).toEqual([
    { fromMs: 9, toMs: 11, value: 1 },
    { fromMs: 11, toMs: 13, value: NaN },
    { fromMs: 13, toMs: 14, value: 0 },
  ]);
  expect(shareOn(found)).toBe(2 / 3);
  expect(shareOn(findStateSpans(of(NaN), grid))).toBe(undefined);
});
