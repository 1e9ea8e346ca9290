import { expect, test } from "vitest";
import { shareOn, findStateSpans } from "./spans.ts";
import { statisticsOf } from "./statistics.ts";

const of = (...values: number[]) => Float64Array.from(values);

test("a gap counts for nothing: it is no zero in the least or the mean", () => {
  expect(statisticsOf(of(4, NaN, NaN, 8))).toEqual({
    now: 8,
    min: 4,
    max: 8,
    mean: 6,
    count: 2,
    gaps: 1,
  });
});

test("what was last read a while ago is not now", () => {
  expect(statisticsOf(of(4, 5, NaN, NaN))?.now).toBe(undefined);
  expect(statisticsOf(of(4, 5, NaN))?.now).toBe(5);
});

test("without a reading there is nothing to say", () => {
  expect(statisticsOf(of(NaN, NaN))).toBe(undefined);
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
