import { expect, test } from "vitest";
import { findDeparture, levelOf } from "./departure.ts";
import { changeGrid, readSpans } from "./grid.ts";
import { formatChangeValue } from "./quantity.ts";
import { ratesOf } from "./series-table.ts";
import { sigmaFloor, titleOf, watchedMetric } from "./watched-series.ts";

const minuteMs = 60_000;
const floor = (middle: number): number => sigmaFloor("watts", 1, middle);
/** 144 cells of history and 48 of the range: the grid of a 20-minute range. */
const cellsOf = (value: (cell: number) => number): Float64Array =>
  Float64Array.from({ length: 192 }, (_, cell) => value(cell));
const departureOf = (cells: Float64Array) => {
  const level = levelOf(cells, 144, floor);
  return level === undefined ? undefined : findDeparture(cells, 144, level);
};
/** Deterministic noise with a standard deviation of about 2.9. */
const noise = (cell: number): number => ((cell * 7_919) % 11) - 5;

test("a step, a bump and a drop are found with their time; noise is not", () => {
  expect(departureOf(cellsOf((cell) => 300 + noise(cell)))).toBeUndefined();
  const step = departureOf(cellsOf((cell) => (cell >= 160 ? 500 : 300) + noise(cell)));
  expect(step).toMatchObject({ firstCell: 160, endCell: 192 });
  expect(step?.after).toBeCloseTo(500, -1);
  const bump = departureOf(
    cellsOf((cell) => (cell >= 160 && cell < 170 ? 500 : 300) + noise(cell)),
  );
  expect(bump).toMatchObject({ firstCell: 160, endCell: 170 });
  const drop = departureOf(cellsOf((cell) => (cell >= 150 ? 100 : 300) + noise(cell)));
  expect(drop).toMatchObject({ firstCell: 150, endCell: 192 });
});

test("what comes and goes in the history as well has not changed", () => {
  const waves = cellsOf((cell) => (cell % 24 < 4 ? 600 : 300) + noise(cell));
  expect(departureOf(waves)).toBeUndefined();
  const single = cellsOf((cell) => (cell % 40 === 0 ? 900 : 300) + noise(cell));
  expect(departureOf(single)).toBeUndefined();
});

test("too little history has no level", () => {
  const late = cellsOf((cell) => (cell < 141 ? Number.NaN : 300));
  expect(levelOf(late, 144, floor)).toBeUndefined();
});

test("a constant reading changes by more than its resolution, not by less", () => {
  expect(departureOf(cellsOf((cell) => (cell >= 160 ? 305 : 300)))).toBeUndefined();
  expect(departureOf(cellsOf((cell) => (cell >= 160 ? 330 : 300)))).toBeDefined();
});

test("the grid has the range in cells and three times as long before it, a quarter of an hour at least", () => {
  const toMs = Date.UTC(2026, 0, 6);
  const twenty = changeGrid(toMs - 20 * minuteMs, toMs);
  expect(twenty).toMatchObject({ stepMs: 25_000, rangeCell: 144, cellCount: 192, toMs });
  const short = changeGrid(toMs - minuteMs, toMs);
  expect(short).toMatchObject({ stepMs: 5_000, rangeCell: 180, cellCount: 192 });
  const week = changeGrid(toMs - 7 * 1_440 * minuteMs, toMs);
  expect(week.cellCount).toBeLessThanOrEqual(96);
});

test("much is read in slices, one at the end of each cell; little at once", () => {
  const toMs = Date.UTC(2026, 0, 6);
  const hour = changeGrid(toMs - 60 * minuteMs, toMs);
  expect(readSpans(hour, 1)).toEqual([{ fromMs: hour.fromMs, toMs }]);
  const day = changeGrid(toMs - 1_440 * minuteMs, toMs);
  const slices = readSpans(day, 8);
  expect(slices).toHaveLength(day.cellCount);
  expect(slices.at(-1)?.toMs).toBe(toMs);
  const readMs = slices.reduce((sum, span) => sum + span.toMs - span.fromMs, 0);
  expect(readMs * 8).toBeLessThanOrEqual(12.1 * 3_600_000);
});

test("a counter is its rate since the reading before, and a reset has none", () => {
  const counts = Float64Array.from([0, 10, Number.NaN, 30, 5, 15]);
  expect([...ratesOf(counts, 10_000)]).toEqual([Number.NaN, 1, Number.NaN, 1, Number.NaN, 1]);
});

test.each([
  ["gpu_temperature_celsius", [["sensor", "edge"]], "Temperature (edge)"],
  ["gpu_pcie_link_generation", [], "PCIe link generation"],
  ["gpu_throttle_active", [["reason", "power_cap"]], "Throttle active (power cap)"],
  ["gpu_up", [], "Responds"],
  ["gpu_owner_info", [["workload", "4711"]], "Job 4711"],
] as const)("%s %j is called %s", (name, more, title) => {
  const identity = [
    ["__name__", name],
    ["gpu", "3"],
    ["host", "node-1"],
    ["uuid", "GPU-1"],
  ] as const;
  expect(titleOf([...identity, ...more])).toBe(title);
});

test("what another series says as well, and gpulse's own conclusions, are not watched", () => {
  const left = ["gpu_memory_used_ratio", "gpu_energy_joules_total", "gpu_health_state", "gpu_info"];
  for (const name of [...left, "gpu_anomaly_active", "unknown_metric"])
    expect([name, watchedMetric(name)]).toEqual([name, undefined]);
  expect(watchedMetric("gpu_power_watts")).toMatchObject({ meaning: "gauge", unit: "watts" });
  expect(watchedMetric("host_network_bytes_total")).toMatchObject({ meaning: "counter" });
});

test.each([
  [0.874, "ratio", "87.4 %"],
  [41, "celsius", "41 °C"],
  [1.98e9, "hertz", "1980 MHz"],
  [47_457_000_000, "bytes", "44.2 GiB"],
  [15.75e9, "bytes_per_second", "15.8 GB/s"],
  [0, "bytes_per_second", "0 B/s"],
  [3, "none", "3"],
  [null, "watts", "-"],
])("%s %s is shown as %s", (value, unit, text) => {
  expect(formatChangeValue(value, unit)).toBe(text);
});
