/** The hourly figures of Analytics over readings of mixed intervals, with and without an energy counter, evaluated as the hub does. */
import { expect, test } from "vitest";
import { labelSet } from "../../src/model/labels.ts";
import { createEngine } from "../../src/query/engine.ts";
import { MemoryStore } from "../../src/query/memory-store.ts";
import { type HourlyKey, hourlyQuery } from "../../web/src/pages/analytics/metrics.ts";

const HOUR_MS = 3_600_000;
const JOULES = 1_800 * 100 + 1_800 * 500;

type Counter = "gpu_energy_joules_total" | "gpu_energy_integrated_joules_total" | undefined;

/** 100 W at 10 % read every second for half an hour, then 500 W at 90 % read every 15 s. */
function mixedIntervals(counter: Counter): MemoryStore {
  const store = new MemoryStore();
  const add = (name: string, ms: number, value: number): void =>
    store.append(labelSet({ __name__: name, host: "lab", uuid: "A" }), ms, value);
  let joules = 0;
  const read = (ms: number, watts: number, ratio: number, intervalMs: number): void => {
    add("gpu_power_watts", ms, watts);
    add("gpu_utilization_ratio", ms, ratio);
    add("gpu_memory_used_ratio", ms, ratio);
    joules += (watts * intervalMs) / 1_000;
    if (counter !== undefined) add(counter, ms, joules);
  };
  for (let ms = 1_000; ms <= HOUR_MS / 2; ms += 1_000) read(ms, 100, 0.1, 1_000);
  for (let ms = HOUR_MS / 2 + 15_000; ms <= HOUR_MS; ms += 15_000) read(ms, 500, 0.9, 15_000);
  return store;
}

async function figure(store: MemoryStore, key: HourlyKey): Promise<number> {
  const { data } = await createEngine().instant(hourlyQuery(key, "", "by time"), HOUR_MS, store);
  return data.type === "vector" ? (data.samples[0]?.value ?? Number.NaN) : Number.NaN;
}

test.each([
  ["utilization", 0.5],
  ["memory", 0.5],
  ["power", 300],
] as const)("the mean %s of an hour is weighted by time, not by samples", async (key, mean) =>
  expect(await figure(mixedIntervals(undefined), key)).toBeCloseTo(mean, 9),
);

test.each(["gpu_energy_joules_total", "gpu_energy_integrated_joules_total", undefined] as const)(
  "the energy of an hour of mixed intervals is right with %s",
  async (counter) => {
    const joules = await figure(mixedIntervals(counter), "energy");
    // A counter is read a second late at most, and power holds until the next reading.
    expect(Math.abs(joules / JOULES - 1)).toBeLessThan(0.025);
  },
);
