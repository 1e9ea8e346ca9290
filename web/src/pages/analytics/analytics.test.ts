import { expect, test } from "vitest";
import { correlationOf } from "./correlation.ts";
import { groupHoursByDay, aggregateHours, hourGrid, hoursOf, patternOf } from "./hours.ts";
import { ruleFor, spikesIn } from "./spikes.ts";

const HOUR = 3_600_000;
const local = (text: string) => new Date(text).getTime();
const gap = Number.NaN;

test("hours end on the local clock's hours, and the present one counts as far as it has come", () => {
  const grid = hourGrid(local("2026-03-02T10:20:00"), local("2026-03-02T13:05:00"));
  expect(hoursOf(grid).map(({ hour }) => hour)).toEqual([10, 11, 12, 13]);
  expect(
    hoursOf(hourGrid(local("2026-03-02T10:00:00"), local("2026-03-02T12:00:00"))),
  ).toMatchObject([{ hour: 10, day: "2026-03-02", weekday: 0 }, { hour: 11 }]);
});

test("a day is folded from its own hours; one without a reading is nothing, not zero", () => {
  const hours = hoursOf(hourGrid(local("2026-03-02T22:00:00"), local("2026-03-03T01:00:00")));
  const [first, second] = groupHoursByDay(hours);
  const values = Float64Array.from([2, gap, 6]);
  expect([first?.day, second?.day]).toEqual(["2026-03-02", "2026-03-03"]);
  expect(aggregateHours(values, first?.at ?? [], "mean")).toBe(2);
  expect(aggregateHours(values, [0, 2], "sum")).toBe(8);
  expect(aggregateHours(values, [0, 2], "max")).toBe(6);
  expect(aggregateHours(values, [1], "sum")).toBeUndefined();
  expect(aggregateHours(undefined, [0], "mean")).toBeUndefined();
});

test("the pattern has a row for each day, and an hour nobody read stays empty", () => {
  const hours = hoursOf(hourGrid(local("2026-03-02T00:00:00"), local("2026-03-04T00:00:00")));
  const values = Float64Array.from(hours, ({ hour }, at) => (at === 5 ? gap : hour));
  const pattern = patternOf(values, hours);
  expect(pattern).toMatchObject({ byWeekday: false, min: 0, max: 23 });
  expect(pattern?.rows).toHaveLength(2);
  expect(pattern?.rows[0]?.cells[5]).toBeUndefined();
  expect(pattern?.rows[1]?.cells[5]).toBe(5);
  expect(patternOf(values.fill(gap), hours)).toBeUndefined();
});

test("many days are folded into their weekdays", () => {
  const hours = hoursOf(hourGrid(local("2026-03-02T00:00:00"), local("2026-03-30T00:00:00")));
  const values = Float64Array.from(hours, ({ weekday }) => weekday);
  const pattern = patternOf(values, hours);
  expect(pattern?.rows.map(({ label, cells }) => [label, cells[12]])).toEqual([
    ["Mon", 0],
    ["Tue", 1],
    ["Wed", 2],
    ["Thu", 3],
    ["Fri", 4],
    ["Sat", 5],
    ["Sun", 6],
  ]);
});

const ramp = Float64Array.from({ length: 40 }, (_, at) => at);
test.each([
  ["the same", ramp, 1],
  ["a multiple", ramp.map((value) => 3 * value + 7), 1],
  ["the opposite", ramp.map((value) => -value), -1],
  ["up and down", ramp.map((value) => (value % 2 === 0 ? 1 : -1)), -0.0433],
])("a ramp and %s correlate", (_name, other, want) => {
  const found = correlationOf(ramp, other);
  expect(found.known && found.r).toBeCloseTo(want, 3);
});

test.each([
  ["a constant", Float64Array.from(ramp, () => 0.1 + 0.2), "does not change"],
  ["too few", Float64Array.from(ramp, (value) => (value < 10 ? value : gap)), "only 10 instants"],
])("a ramp and %s have no correlation but a reason", (_name, other, why) =>
  expect(correlationOf(ramp, other)).toEqual({
    known: false,
    why: expect.stringContaining(why) as unknown,
  }),
);

const grid = (length: number) => ({ startMs: 0, endMs: (length - 1) * 60_000, stepMs: 60_000 });
const rule = ruleFor(86_400_000);
const flat = (length: number) => new Float64Array(length).fill(50);

test("a short rise is a spike with its peak, its end and what is usual there", () => {
  const values = flat(120);
  values.set([60, 66, 61], 50);
  expect(spikesIn(values, grid(120), rule)).toEqual([
    { startMs: 50 * 60_000, endMs: 52 * 60_000, peakMs: 51 * 60_000, peak: 66, usual: 50 },
  ]);
});

test("a new level, a small rise and a gap are none", () => {
  const level = flat(120).fill(70, 60);
  const small = flat(120);
  small[40] = 57;
  expect(spikesIn(level, grid(120), rule)).toEqual([]);
  expect(spikesIn(small, grid(120), rule)).toEqual([]);
  expect(spikesIn(flat(120).fill(gap, 30, 60), grid(120), rule)).toEqual([]);
  expect(spikesIn(Float64Array.from([50, 90]), grid(2), rule)).toEqual([]);
});

test("a rise whose beginning or end nobody saw is none", () => {
  const end = flat(120).fill(70, 108);
  const seam = flat(120).fill(70, 116);
  const start = flat(120).fill(70, 0, 5);
  const torn = flat(120).fill(70, 50, 55).fill(gap, 55, 60);
  for (const values of [end, seam, start, torn])
    expect(spikesIn(values, grid(120), rule)).toEqual([]);
});

test("hours are an hour long", () => expect(hourGrid(0, 1).stepMs).toBe(HOUR));
