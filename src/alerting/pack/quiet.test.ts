/** The default rules over simulated hours: no alert without a fault, and the right alert for each fault. */
import { expect, test } from "vitest";
import { packGroups } from "./pack.ts";
import { type FiredAlert, simulate } from "../../../test/fixtures/alerting/simulate.ts";

const groups = await packGroups();
const problems = (fired: readonly FiredAlert[]): string[] =>
  fired
    .filter(({ severity }) => severity !== "info")
    .map(({ name, labels }) => `${name} of GPU ${labels.get("gpu") ?? "?"}`)
    .sort();

const run = (source: string, minutes: number) =>
  simulate({ source, minutes, intervalSeconds: 5, groups });

test.each([
  ["a shared machine that trains, serves and runs batches", "sim:8?seed=3"],
  ["one GPU of every model", "sim:?scenario=mixed"],
  ["machines that serve as fast as they can, over and over", "sim:4?scenario=mlperf"],
])("%s reports on no problem in an hour", { timeout: 120_000 }, async (_says, source) => {
  const { fired, failed } = await run(source, 60);
  expect([...failed]).toEqual([]);
  expect(problems(fired)).toEqual([]);
});

test(
  "idle GPUs say so after five minutes and once, the one that sleeps says nothing",
  { timeout: 120_000 },
  async () => {
    const { fired } = await run("sim:?scenario=idle", 30);
    expect(fired.map(({ name, labels }) => `${name} ${labels.get("gpu")}`).sort()).toEqual([
      "GpuIdle 0",
      "GpuIdle 1",
      "GpuIdle 3",
    ]);
    expect(fired[0]?.annotations["memory_free_bytes"]).toMatch(/^\d{10,}$/);
    expect(fired[0]?.annotations["gpu_model"]).toBe("NVIDIA H200");
  },
);

test("an hour of faults is reported GPU by GPU", { timeout: 120_000 }, async () => {
  const { fired, failed } = await run("sim:8?scenario=faults", 40);
  expect([...failed]).toEqual([]);
  expect(problems(fired)).toEqual(
    expect.arrayContaining([
      "GpuHot of GPU 0",
      "GpuThermalThrottling of GPU 0",
      "GpuClockStuck of GPU 2",
      "GpuEccGrowing of GPU 3",
      "GpuEccUncorrected of GPU 3",
      "GpuXid of GPU 4",
      "GpuPcieDegraded of GPU 5",
      "GpuLost of GPU 6",
      "GpuPowerBrake of GPU 7",
    ]),
  );
});
