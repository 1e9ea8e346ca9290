import { describe, expect, test } from "vitest";
import { findSensorAgeMs } from "./sensor-age.ts";
import { parsePhases, type TraceRow } from "./trace.ts";

/** Swings by 10 °C every 100 ms, as a die does under short kernels. */
const dieCelsius = (timeMs: number): number => 60 + 5 * Math.sin((2 * Math.PI * timeMs) / 200);

const rowsOfAge = (ageMs: number): TraceRow[] =>
  Array.from({ length: 200 }, (_, index) => ({
    timeMs: 1_000 + index * 97,
    celsius: Math.round(dieCelsius(1_000 + index * 97 - ageMs)),
    utilization: 1,
    memoryUtilization: 0,
    memoryBytes: 0,
    watts: 300,
    smHertz: 1.9e9,
    powerCapped: false,
  }));

describe("the age of the temperature", () => {
  test.each([20, 45, 75, 115])("of %i ms is found from readings in whole degrees", (ageMs) =>
    expect(Math.abs(findSensorAgeMs(rowsOfAge(ageMs), dieCelsius) - ageMs)).toBeLessThanOrEqual(5),
  );

  test("is the youngest that was seen where no reading shows it", () => {
    expect(findSensorAgeMs([], dieCelsius)).toBe(20);
    expect(findSensorAgeMs(rowsOfAge(60), () => 60)).toBe(20);
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
