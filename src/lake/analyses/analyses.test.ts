/** Every analysis compared with values calculated by hand for a few rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  analyseLake,
  type FixtureRow,
  objects,
  writeLake,
} from "../../../test/fixtures/lake/analyses.ts";
import type { RawParameters } from "./parameters.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

const at = (text: string): number => Date.parse(`${text}Z`);
const minute = 60_000;

function lakeOf(rows: readonly FixtureRow[]): string {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-analyses-"));
  dirs.push(dir);
  writeLake(dir, rows);
  return dir;
}

async function answers(name: string, rows: readonly FixtureRow[], given: RawParameters = {}) {
  return objects((await analyseLake(lakeOf(rows), [name], given))[0]);
}

test("a day has its means, quantiles and peaks; a reading that is absent counts for nothing", async () => {
  const start = at("2026-01-01T10:00");
  const rows = [10, 20, 30, null, 60].map((watts, index) => ({
    timeMs: start + index * minute,
    gpu_power_watts: watts,
    gpu_utilization_ratio: index / 4,
  }));
  const next = [50, 70].map((watts, index) => ({
    timeMs: at("2026-01-02T23:59") + index * 30_000,
    gpu_power_watts: watts,
  }));
  expect(await answers("daily", [...rows, ...next])).toEqual([
    expect.objectContaining({
      day: "2026-01-01",
      host: "lab",
      gpu: 0,
      samples: 5,
      covered_hours: 4 / 60,
      power_mean_watts: 30,
      power_median_watts: 25,
      // Between 30 and 60, 0.85 of the way: 0.95 of three steps is 2.85.
      power_p95_watts: expect.closeTo(55.5, 9) as unknown,
      power_max_watts: 60,
      utilization_mean: 0.5,
      temperature_max_celsius: null,
      power_change_watts: null,
      power_trend_watts_per_day: expect.closeTo(30, 9) as unknown,
    }),
    expect.objectContaining({
      day: "2026-01-02",
      samples: 2,
      covered_hours: 0.5 / 60,
      power_mean_watts: 60,
      power_change_watts: 30,
      utilization_mean: null,
    }),
  ]);
});

test("a row that came twice counts once", async () => {
  const row = { timeMs: at("2026-01-01T10:00"), gpu_power_watts: 100 };
  const dir = lakeOf([row, { ...row, timeMs: row.timeMs + minute }]);
  writeLake(dir, [row, { ...row, timeMs: row.timeMs + 2 * minute }], "again");
  const [daily, energy] = await analyseLake(dir, ["daily", "energy"]);
  expect(objects(daily)).toEqual([expect.objectContaining({ samples: 3 })]);
  expect(objects(energy)[0]?.["energy_kwh"]).toBeCloseTo(0.1 / 30, 12);
});

test("days and hours follow the zone, also over the night its clocks change", async () => {
  // Berlin leaves winter time on 2026-03-29 at 01:00 UTC.
  const rows = [
    "2026-03-28T22:30",
    "2026-03-28T23:30",
    "2026-03-29T00:30",
    "2026-03-29T01:30",
    "2026-03-29T21:59",
    "2026-03-29T22:00",
  ].map((text) => ({ timeMs: at(text), gpu_power_watts: 1, gpu_utilization_ratio: 0.5 }));
  const given = { timezone: "Europe/Berlin" };
  const daily = await answers("daily", rows, given);
  expect(daily.map(({ day, samples }) => [day, samples])).toEqual([
    ["2026-03-28", 1],
    ["2026-03-29", 4],
    ["2026-03-30", 1],
  ]);
  const hourly = await answers("hourly", rows, given);
  expect(hourly.map(({ hour, samples }) => [hour, samples])).toEqual([
    [0, 2],
    [1, 1],
    [3, 1],
    [23, 2],
  ]);
});

test("hours distinguish workdays from weekends, and how often a GPU was busy", async () => {
  const rows = [
    { timeMs: at("2026-01-02T09:00"), gpu_utilization_ratio: 1 }, // Friday
    { timeMs: at("2026-01-02T09:30"), gpu_utilization_ratio: 0.5 },
    { timeMs: at("2026-01-03T09:00"), gpu_utilization_ratio: 0 }, // Saturday
    { timeMs: at("2026-01-05T09:00"), gpu_utilization_ratio: null }, // Monday
  ];
  expect(await answers("hourly", rows)).toEqual([
    expect.objectContaining({
      hour: 9,
      samples: 4,
      days: 3,
      utilization_mean: 0.5,
      utilization_workday_mean: 0.75,
      utilization_weekend_mean: 0,
      busy_share: expect.closeTo(2 / 3, 12) as unknown,
    }),
  ]);
});

test("energy is the area under power; a gap too long is not counted, and the counter stands beside", async () => {
  const start = at("2026-01-01T00:00");
  const rows = [
    [0, 100, 1_000_000],
    [4, 200, 1_036_000],
    [8, 200, 20_000],
    [60, 300, 128_000],
    [64, 300, null],
  ].map(([minutes = 0, watts = null, joules = null]) => ({
    timeMs: start + (minutes ?? 0) * minute,
    gpu_power_watts: watts,
    gpu_energy_joules_total: joules,
  }));
  const [energy] = await answers("energy", rows, { price: "0.5", co2: "400" });
  // 4 min at 150 W, 4 min at 200 W, 4 min at 300 W: 10 + 13.33 + 20 Wh.
  const kwh = (650 * 4) / 60 / 1_000;
  expect(energy?.["energy_kwh"]).toBeCloseTo(kwh, 12);
  expect(energy).toMatchObject({
    covered_hours: expect.closeTo(0.2, 12) as unknown,
    power_max_watts: 300,
  });
  expect(energy?.["power_mean_watts"]).toBeCloseTo(650 / 3, 9);
  expect(energy?.["cost"]).toBeCloseTo(kwh / 2, 12);
  expect(energy?.["co2_grams"]).toBeCloseTo(kwh * 400, 9);
  // 36,000 J, then 20,000 from a counter that was reset, then 108,000.
  expect(energy?.["counter_kwh"]).toBeCloseTo(164_000 / 3_600_000, 12);
  const [without] = await answers("energy", rows);
  expect(without).toMatchObject({ cost: null, co2_grams: null });
});

test("idling has its hours, its energy, its longest run, and what a program held meanwhile", async () => {
  const start = at("2026-01-01T00:00");
  const gib = 2 ** 30;
  const loads = [0, 0, 0, 1, 1, 0, 0.04, 0.5];
  const rows = loads.map((load, index) => ({
    timeMs: start + index * minute,
    gpu_utilization_ratio: load,
    gpu_power_watts: load < 0.05 ? 60 : 300,
    gpu_memory_used_bytes: index >= 5 ? 8 * gib : 0,
  }));
  const [idle] = await answers("idle", rows, { price: "0.3" });
  // Seven minutes: idle 0-1, 1-2, 2-3 (which ends with 300 W), 5-6, 6-7 (likewise).
  expect(idle).toMatchObject({
    samples: 8,
    covered_hours: expect.closeTo(7 / 60, 12) as unknown,
    idle_hours: expect.closeTo(5 / 60, 12) as unknown,
    idle_share: expect.closeTo(5 / 7, 12) as unknown,
    longest_idle_hours: expect.closeTo(3 / 60, 12) as unknown,
    idle_kwh: expect.closeTo((60 + 60 + 180 + 60 + 180) / 60 / 1_000, 12) as unknown,
    held_idle_hours: expect.closeTo(2 / 60, 12) as unknown,
    held_idle_kwh: expect.closeTo((60 + 180) / 60 / 1_000, 12) as unknown,
    idle_cost: expect.closeTo((540 / 60 / 1_000) * 0.3, 12) as unknown,
    idle_co2_grams: null,
  });
});

const spikeRows = (
  extra: (second: number) => Partial<FixtureRow>,
  who: Partial<FixtureRow> = {},
): readonly FixtureRow[] =>
  Array.from({ length: 61 }, (_, index) => {
    const second = index * 10;
    const temperature = second < 300 ? 50 : second < 340 ? 70 : 50;
    return {
      timeMs: at("2026-01-01T00:00") + second * 1_000,
      gpu_temperature_celsius_edge: temperature,
      ...who,
      ...extra(second),
    };
  });
const during = (second: number): boolean => second >= 300 && second < 340;
const steady = { gpu_power_watts: 200, gpu_fan_rpm_1: 2_000 };

test.each([
  ["load", (second: number) => ({ ...steady, gpu_power_watts: during(second) ? 300 : 200 })],
  [
    "fan",
    (second: number) => ({
      ...steady,
      gpu_fan_rpm_1: during(second) ? 0 : 2_000,
      gpu_fan_rpm_2: 2_000,
    }),
  ],
  [
    "ambient",
    (second: number) => ({
      ...steady,
      host_cpu_temperature_celsius_package: during(second) ? 60 : 55,
    }),
  ],
  ["unknown", () => steady],
] as const)("a spike is reported with its cause: %s", async (cause, extra) => {
  expect(await answers("spikes", spikeRows(extra))).toEqual([
    expect.objectContaining({
      began: "2026-01-01T00:05:00.000Z",
      ended: "2026-01-01T00:05:30.000Z",
      cause,
      base_celsius: 50,
      peak_celsius: 70,
      rise_celsius: 20,
    }),
  ]);
});

test("other GPUs of the machine that get warmer too make it the air around", async () => {
  const neighbour = spikeRows(
    (second) => ({ gpu_temperature_celsius_edge: second < 300 ? 40 : 46 }),
    { uuid: "GPU-b", gpu: 1 },
  );
  const [spike] = await answers("spikes", [...spikeRows(() => steady), ...neighbour]);
  expect(spike).toMatchObject({ uuid: "GPU-a", cause: "ambient", neighbours_rise_celsius: 6 });
});

test("a pair has Pearson's and Spearman's coefficient, and the lag where one follows the other", async () => {
  const start = at("2026-01-01T00:00");
  // A wave without a period within the lags; the temperature follows the power of two minutes earlier.
  const wave = (minutes: number): number => 200 + 100 * Math.sin(minutes * minutes * 0.05);
  const rows = Array.from({ length: 60 }, (_, minutes) => ({
    timeMs: start + minutes * minute,
    gpu_power_watts: wave(minutes),
    gpu_temperature_celsius_edge: wave(minutes - 2) / 4,
    gpu_utilization_ratio: 1,
  }));
  const metrics = "gpu_power_watts,gpu_temperature,gpu_load";
  const found = await answers("correlation", rows, { metrics, step: "1m" });
  expect(found).toHaveLength(3);
  expect(found[0]).toMatchObject({
    metric: "gpu_power_watts",
    other_metric: "gpu_temperature_celsius_edge",
    steps: 60,
    best_lag_seconds: 120,
    best_lag_pearson: expect.closeTo(1, 9) as unknown,
  });
  expect(found[1]).toMatchObject({
    other_metric: "gpu_utilization_ratio",
    pearson: null,
    spearman: null,
  });
  // Ranks of x are 1 2.5 2.5 4, of y 1 2 3 4: covariance 1.125, variances 1.125 and 1.25.
  const small = [
    [1, 1],
    [2, 4],
    [2, 9],
    [7, 16],
  ].map(([x = 0, y = 0], index) => ({
    timeMs: start + index * minute,
    gpu_power_watts: x,
    gpu_temperature_celsius_edge: y,
  }));
  const [pair] = await answers("correlation", small, {
    metrics: "board_power,gpu_temperature",
    "fewest-steps": "3",
    lags: "0",
  });
  expect(pair?.["spearman"]).toBeCloseTo(1.125 / Math.sqrt(1.125 * 1.25), 12);
  // Means 3 and 7.5; sum of products 49, of squares 22 and 129.
  expect(pair?.["pearson"]).toBeCloseTo(49 / Math.sqrt(22 * 129), 12);
});

test("readings that differ by one bit, as means do by the order of adding up, share a rank", async () => {
  const rows = [0.1 + 0.2, 0.3, 0.5].map((load, step) => ({
    timeMs: at("2026-01-01T00:00") + step * minute,
    gpu_utilization_ratio: load,
    gpu_power_watts: step,
  }));
  const given = { metrics: "gpu_load,board_power", "fewest-steps": "3", lags: "0", step: "1m" };
  const [pair] = await answers("correlation", rows, given);
  // Ranks 1.5 1.5 3 and 1 2 3; without the tie they would be 2 1 3.
  expect(pair?.["spearman"]).toBeCloseTo(1.5 / Math.sqrt(1.5 * 2), 12);
});

test("heat per watt is held against the first days", async () => {
  const rows = [50, 50, 61].flatMap((temperature, day) =>
    Array.from({ length: 40 }, (_, minutes) => ({
      timeMs: at("2026-01-01T12:00") + day * 86_400_000 + minutes * minute,
      gpu_power_watts: 250,
      gpu_temperature_celsius_edge: temperature,
    })),
  );
  const found = await answers("efficiency", rows, { "baseline-days": "2" });
  // (50 - 25) / 250 = 0.1; (61 - 25) / 250 = 0.144.
  expect(found.map(({ day, state, samples }) => [day, state, samples])).toEqual([
    ["2026-01-01", "baseline", 37],
    ["2026-01-02", "baseline", 37],
    ["2026-01-03", "worse", 37],
  ]);
  expect(found[2]?.["celsius_per_watt"]).toBeCloseTo(0.144, 12);
  expect(found[2]?.["drift_ratio"]).toBeCloseTo(0.44, 12);
  // Slope of 0.1, 0.1, 0.144 is 0.022 a day.
  expect(found[2]?.["trend_ratio_per_30_days"]).toBeCloseTo((0.022 * 30) / 0.1, 9);
});

test("only the GPUs, machines and times asked for are counted", async () => {
  const rows = ["a", "b", "c"].map((name, gpu) => ({
    timeMs: at("2026-01-01T10:00") + gpu * minute,
    uuid: `GPU-${name}`,
    gpu,
    host: gpu === 2 ? "other's" : "lab",
    gpu_power_watts: 1,
  }));
  const uuids = async (given: RawParameters) =>
    (await answers("daily", rows, given)).map(({ uuid }) => uuid);
  expect(await uuids({ gpu: "GPU-a,1" })).toEqual(["GPU-a", "GPU-b"]);
  expect(await uuids({ host: "other's" })).toEqual(["GPU-c"]);
  expect(await uuids({ since: "2026-01-01 10:01", until: "2026-01-01T10:02" })).toEqual(["GPU-b"]);
});

test("GPUs of two hosts with one uuid have figures of their own in every analysis", async () => {
  const start = at("2026-01-01T00:00");
  const rows = (uuidOf: (host: string) => string): FixtureRow[] =>
    ["ws-1", "ws-2"].flatMap((host, place) =>
      Array.from({ length: 3_000 }, (_, index) => {
        const wave = Math.sin(index / (40 + 13 * place));
        const spike = index % 1_000 > 990 - 5 * place ? 30 : 0;
        return {
          timeMs: start + index * minute,
          host,
          uuid: uuidOf(host),
          gpu_power_watts: 50 + 200 * place + 20 * wave,
          gpu_utilization_ratio: index % 600 < 300 * (place + 1) - 250 ? 0 : 0.5 + 0.4 * wave,
          gpu_memory_used_bytes: 1e9 * (place + 1),
          gpu_temperature_celsius_edge: 40 + 20 * place + 3 * wave + spike,
        };
      }),
    );
  const found = async (uuidOf: (host: string) => string) =>
    (await analyseLake(lakeOf(rows(uuidOf)), ["all"])).map((result) =>
      objects(result).map(({ uuid: _, ...figures }) =>
        // Sums in another order differ in their last digits.
        Object.values(figures).map((one) => (typeof one === "number" ? one.toPrecision(9) : one)),
      ),
    );
  const apart = await found((host) => `amd-0000:03:00.0-${host}`);
  expect(apart.filter((one) => one.length > 0).length).toBeGreaterThan(5);
  expect(await found(() => "amd-0000:03:00.0")).toEqual(apart);
  const [daily] = await analyseLake(lakeOf(rows(() => "amd-0000:03:00.0")), ["daily"]);
  expect(new Set(objects(daily).map(({ uuid }) => uuid))).toEqual(new Set(["amd-0000:03:00.0"]));
});
