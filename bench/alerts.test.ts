import { expect, test } from "vitest";
import { kindsMissing, per100GpuDays, runFaults, runHealthy } from "./alerts-week.ts";

const h200 = (count: number): string[] => Array.from({ length: count }, () => "H200");

test("sound GPUs at work fire nothing, of any severity", { timeout: 120_000 }, async () => {
  const hosts = [[...h200(4), "MI300X", "RTX 4090"]];
  const found = await runHealthy({ seed: 11, hosts, days: 1 / 12, stepMs: 60_000 });
  expect([...found.failedRules]).toEqual([]);
  expect(found.alarms.map(({ name, says }) => `${name}: ${says}`)).toEqual([]);
});

test(
  "one fault of every kind: each fires an alert, and a lost GPU fires nothing but its loss",
  { timeout: 240_000 },
  async () => {
    expect(kindsMissing).toEqual([]);
    const found = await runFaults({ seed: 1, hosts: [h200(8), h200(2)], stepMs: 30_000 });
    expect(
      found.faults.filter(({ by }) => by === undefined).map(({ fault }) => fault.fault),
    ).toEqual([]);
    expect(found.false.map(({ name, says }) => `${name}: ${says}`)).toEqual([]);
    expect(found.afterLoss.map(({ name, says }) => `${name}: ${says}`)).toEqual([]);
    expect(found.texts.filter((text) => /-\d+[.\d]* °C below/.test(text))).toEqual([]);
  },
);

test("the rate is per 100 GPU-days", () => expect(per100GpuDays(2, 56)).toBeCloseTo(3.57));
