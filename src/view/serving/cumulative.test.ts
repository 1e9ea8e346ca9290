import { expect, test } from "vitest";
import { commonPeriod, Cumulative, increaseOf } from "./cumulative.ts";

const column = (
  pairs: readonly (readonly [seconds: number, value: number])[],
  stale: number[] = [],
) => ({
  times: Float64Array.from(pairs, ([at]) => at * 1_000),
  values: Float64Array.from(pairs, ([, value]) => value),
  stale: Uint8Array.from(pairs, (_, at) => (stale.includes(at) ? 1 : 0)),
});
const counter = (...pairs: readonly (readonly [number, number])[]): Cumulative =>
  Cumulative.ofCounter(column(pairs));

test.each([
  ["a steady counter", counter([0, 100], [10, 200], [20, 300]), 0, 20_000, 200],
  ["between samples", counter([0, 0], [10, 100]), 2_500, 5_000, 25],
  ["a restart", counter([0, 900], [10, 1_000], [20, 30], [30, 80]), 0, 30_000, 180],
  ["a value that is not a number", counter([0, 0], [10, Number.NaN], [20, 40]), 0, 20_000, 40],
  ["a negative value", counter([0, 0], [10, -5], [20, 40]), 0, 20_000, 40],
  ["before the first sample", counter([10, 0], [20, 10]), 0, 20_000, undefined],
  ["after the last sample", counter([10, 0], [20, 10]), 10_000, 21_000, undefined],
  ["within a gap", counter([0, 0], [5, 5], [10, 10], [600, 99]), 0, 300_000, undefined],
  ["across a gap", counter([0, 0], [5, 5], [10, 10], [600, 99]), 0, 600_000, 99],
  ["nothing", counter(), 0, 1, undefined],
])("%s", (_, series, fromMs, toMs, increase) => {
  expect(series.increase(fromMs, toMs)).toBe(increase);
});

test("watts are integrated to joules", () => {
  const joules = Cumulative.ofGauge(
    column([
      [0, 100],
      [10, 300],
      [20, 300],
    ]),
  );
  expect(joules.increase(0, 20_000)).toBe(5_000);
});

test("a stale marker is no sample", () => {
  const series = Cumulative.ofCounter(
    column(
      [
        [0, 5],
        [10, 15],
        [20, 0],
      ],
      [2],
    ),
  );
  expect([series.lastMs, series.increase(0, 10_000)]).toEqual([10_000, 10]);
});

test("several count together only where each is known", () => {
  const all = [counter([0, 0], [10, 10], [20, 20]), counter([5, 0], [15, 100])];
  expect(commonPeriod(all, 0, 60_000)).toEqual({ fromMs: 5_000, toMs: 15_000 });
  expect(increaseOf(all, 5_000, 15_000)).toBe(110);
  expect(increaseOf(all, 0, 15_000)).toBeUndefined();
  expect(commonPeriod([], 0, 1)).toBeUndefined();
});
