import { expect, test } from "vitest";
import { energyOf, integrate, powerKindOf } from "./energy.ts";
import type { GpuTrace } from "./run.ts";

const nan = Number.NaN;
const trace = (timeMs: number[], columns: Record<string, number[]>): GpuTrace => ({
  timeMs: Float64Array.from(timeMs),
  columns: new Map(Object.entries(columns).map(([name, v]) => [name, Float64Array.from(v)])),
});

test("power is integrated between the exact ends", () => {
  const power = [0, 100, 200, 300].map((timeMs) => ({ timeMs, value: timeMs }));
  expect(integrate(power, [50, 250], 1_000)).toEqual({ joules: 30, coveredMs: 200 });
});

test("what lies in a gap is not covered", () => {
  const power = [0, 100, 5_000, 5_100].map((timeMs) => ({ timeMs, value: 100 }));
  expect(integrate(power, [0, 5_100], 1_000)).toEqual({ joules: 20, coveredMs: 200 });
});

test("the counter is carried from its nearest reading to the instant by power", () => {
  const gpu = trace([0, 400, 1_000, 1_500, 2_000], {
    gpu_energy_joules_total: [1_000, nan, 1_100, nan, 1_200],
    gpu_power_watts: [100, 100, 100, 100, 100],
  });
  const { counterJoules, integratedJoules, integratedShare } = energyOf(gpu, [400, 1_700], 100);
  expect(counterJoules).toBeCloseTo(130, 9);
  expect(integratedJoules).toBeCloseTo(130, 9);
  expect(integratedShare).toBe(1);
});

test("the instant power is taken before the averaged one", () => {
  const gpu = trace([0, 100], {
    gpu_power_watts: [1, 1],
    gpu_power_instant_watts: [10, 10],
  });
  expect(energyOf(gpu, [0, 100], 100)).toEqual({ integratedJoules: 1, integratedShare: 1 });
});

test("a counter that was reset counts nothing", () => {
  const gpu = trace([0, 1_000], { gpu_energy_joules_total: [500, 10] });
  expect(energyOf(gpu, [0, 1_000], 100)).toEqual({});
});

test.each([
  ["gpu_power_watts", "board"],
  ["gpu_chip_power_watts", "chip"],
  ["gpu_utilization_ratio", "none"],
] as const)("%s is %s power", (column, kind) => {
  expect(powerKindOf(trace([0], { [column]: [1] }))).toBe(kind);
});
