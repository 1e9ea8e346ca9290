import { describe, expect, test } from "vitest";
import { findSampling, sampledMs } from "./sensor-age.ts";
import { parsePhases, type TraceRow } from "./trace.ts";

/** Varies by 10 °C every 260 ms, like a die under short kernels. */
const dieCelsius = (timeMs: number): number => 60 + 5 * Math.sin((2 * Math.PI * timeMs) / 260);

/** A reading every 100 ms; `ageMs` is the age of its temperature. */
const rowsOfAge = (ageMs: (timeMs: number) => number): TraceRow[] =>
  Array.from({ length: 600 }, (_, index) => 1_000 + index * 100).map((timeMs) => ({
    timeMs,
    celsius: Math.round(dieCelsius(timeMs - ageMs(timeMs))),
    utilization: 1,
    memoryUtilization: 0,
    memoryBytes: 0,
    watts: 300,
    smHertz: 1.9e9,
    powerCapped: false,
  }));

const foundAges = (rows: readonly TraceRow[]): number[] => {
  const sampling = findSampling(rows, dieCelsius);
  return rows.map(({ timeMs }) => timeMs - sampledMs(sampling, timeMs));
};

describe("the age of the temperature", () => {
  test.each([0, 20, 45, 75, 95])("of %i ms is found from readings in whole degrees", (ageMs) => {
    for (const found of foundAges(rowsOfAge(() => ageMs)))
      expect(Math.abs(found - ageMs)).toBeLessThanOrEqual(5);
  });

  test("follows a sample that slips past the copy: 100 ms old, then not at all", () => {
    const ageMs = (timeMs: number): number => (timeMs < 30_000 ? 100 : 0);
    const rows = rowsOfAge(ageMs);
    const wrong = foundAges(rows).filter((found, index) => {
      const timeMs = rows[index]?.timeMs ?? 0;
      return Math.abs(timeMs - 30_000) > 500 && Math.abs(found - ageMs(timeMs)) > 5;
    });
    expect(wrong).toEqual([]);
  });

  test("follows copies that slip past a poll: the same samples are read 50 ms later", () => {
    const early = rowsOfAge(() => 5);
    const rows = early.map((row, index) =>
      index < 300 ? row : { ...row, timeMs: row.timeMs + 50 },
    );
    const found = foundAges(rows);
    expect(Math.abs((found[100] ?? 0) - 5)).toBeLessThanOrEqual(5);
    expect(Math.abs((found[500] ?? 0) - 55)).toBeLessThanOrEqual(5);
  });

  test("does not follow single readings", () => {
    const rows = rowsOfAge(() => 100).map((row, index) =>
      index % 50 === 0 ? { ...row, celsius: Math.round(dieCelsius(row.timeMs)) } : row,
    );
    expect(findSampling(rows, dieCelsius).changes).toHaveLength(1);
  });

  test("is never more than a sampling and a poll", () => {
    const { originMs } = findSampling([], dieCelsius);
    const changes = [{ fromMs: 0, behind: 1 }];
    for (let timeMs = 0; timeMs < 400; timeMs++) {
      const ageMs = timeMs - sampledMs({ originMs, changes }, timeMs);
      expect(ageMs).toBeGreaterThanOrEqual(0);
      expect(ageMs).toBeLessThanOrEqual(150);
    }
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
