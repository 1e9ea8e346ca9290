import { describe, expect, test } from "vitest";
import { findSensorAge } from "./sensor-age.ts";
import { parsePhases, type TraceRow } from "./trace.ts";

/** Swings by 10 °C every 100 ms, as a die does under short kernels. */
const dieCelsius = (timeMs: number): number => 60 + 5 * Math.sin((2 * Math.PI * timeMs) / 200);

const rowsOfAge = (ageMs: (index: number) => number, count = 200): TraceRow[] =>
  Array.from({ length: count }, (_, index) => ({
    timeMs: 1_000 + index * 97,
    celsius: Math.round(dieCelsius(1_000 + index * 97 - ageMs(index))),
    utilization: 1,
    memoryUtilization: 0,
    memoryBytes: 0,
    watts: 300,
    smHertz: 1.9e9,
    powerCapped: false,
  }));

describe("the age of the temperature", () => {
  test.each([20, 45, 75, 115])("of %i ms is found from readings in whole degrees", (ageMs) => {
    const { course } = findSensorAge(
      rowsOfAge(() => ageMs),
      dieCelsius,
    );
    expect(course).toHaveLength(1);
    expect(Math.abs((course[0] ?? 0) - ageMs)).toBeLessThanOrEqual(5);
  });

  test.each([
    ["the sample slips past the copy of the registers", 105, 5],
    ["the copy slips past a poll", 5, 55],
  ])("jumps where %s", (_, before, after) => {
    const rows = rowsOfAge((index) => (index < 150 ? before : after), 300);
    const age = findSensorAge(rows, dieCelsius);
    for (const [index, { timeMs }] of rows.entries())
      if (Math.abs(index - 150) > 5)
        expect(
          Math.abs(age.at(timeMs) - (index < 150 ? before : after)),
          `reading ${index}`,
        ).toBeLessThanOrEqual(10);
  });

  test("does not follow each reading", () => {
    const rows = rowsOfAge((index) => (index % 2 === 0 ? 20 : 70));
    expect(findSensorAge(rows, dieCelsius).course.length).toBeLessThan(4);
  });

  test("does not change where no reading shows it", () => {
    expect(findSensorAge([], dieCelsius).course).toEqual([0]);
    expect(
      findSensorAge(
        rowsOfAge(() => 60),
        () => 60,
      ).course,
    ).toHaveLength(1);
  });
});

describe("when kernels ran", () => {
  const phases = (busy: unknown) =>
    parsePhases(JSON.stringify([{ phase: "ramp", start_ms: 0, end_ms: 900, busy_ms: busy }]));

  test("is read as spans from the start of the phase", () => {
    expect(
      phases([
        [0, 10.5],
        [10.5, 20],
      ])[0]?.busyMs,
    ).toEqual([
      [0, 10.5],
      [10.5, 20],
    ]);
    expect(phases([])[0]?.busyMs).toEqual([]);
    expect(phases(undefined)[0]?.busyMs).toBeUndefined();
  });

  test.each([
    ["no list", 7],
    ["a span of one number", [[1]]],
    ["a span of three", [[1, 2, 3]]],
    ["text", [["1", 2]]],
    ["a span that ends before it begins", [[5, 4]]],
    [
      "spans that overlap",
      [
        [0, 10],
        [9, 12],
      ],
    ],
  ])("%s is refused with the entry's number", (_, busy) =>
    expect(() => phases(busy)).toThrow(/entry 1: busy_ms must be a list of \[from, to\] that rise/),
  );
});
