import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { withLabels } from "../../model/labels.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import type { GpuIdentity } from "../../view/explain/fleet-cells.ts";
import { findMates, readFleetCells } from "./read.ts";

const timeMs = Date.UTC(2026, 0, 6);
const hourMs = 3_600_000;

const identity = (host: string, index: number): GpuIdentity => ({
  uuid: `GPU-${host}-${index}`,
  host,
  index: String(index),
  model: "NVIDIA H200",
  vendor: "nvidia",
});

const labelsOf = ({ uuid, host }: GpuIdentity, name: string, more: Record<string, string> = {}) =>
  withLabels([], { __name__: name, uuid, host, ...more });

test("the same job's GPUs are found: on other machines only by a name that is unique there", async () => {
  const store = new MemoryStore();
  const [asked, beside, away, waiting] = [
    identity("a", 0),
    identity("a", 1),
    identity("b", 0),
    identity("b", 1),
  ] as const;
  const hold = (one: GpuIdentity, workload: string, atMs: number) =>
    store.append(labelsOf(one, gpu.ownerInfo.name, { workload }), atMs, 1);
  const others = [beside, away, waiting];
  hold(waiting, "4711", timeMs - 10 * 60_000);
  for (const one of [asked, beside, away]) hold(one, "4711", timeMs - 30_000);
  expect(await findMates(store, [asked], others, timeMs)).toEqual([beside, away]);
  for (const one of [asked, beside, away]) hold(one, "train.py", timeMs - 1_000);
  expect(await findMates(store, [asked], others, timeMs)).toEqual([beside]);
});

test("GPUs of other machines are read in slices and by the fields that are compared, neighbours without a gap", async () => {
  const store = new MemoryStore();
  const [asked, near, far] = [identity("a", 0), identity("a", 1), identity("b", 0)] as const;
  for (const one of [asked, near, far])
    for (let atMs = timeMs - 3 * hourMs; atMs <= timeMs; atMs += 20_000)
      for (const metric of [gpu.power, gpu.memoryUsed])
        store.append(labelsOf(one, metric.name), atMs, 300);
  const plan = { explained: [asked], peers: [near, far] };
  const fleet = await readFleetCells(store, plan, timeMs);
  const { grid } = fleet;
  const read = ({ uuid, host }: GpuIdentity, field: "power" | "memoryBytes"): number =>
    fleet
      .find(uuid, host)
      ?.get(field)
      .filter((value) => value === 300).length ?? 0;
  expect(read(asked, "power")).toBeGreaterThanOrEqual((2 * hourMs) / 20_000);
  expect(read(near, "power")).toBe(read(asked, "power"));
  expect(read(far, "power")).toBeLessThan(read(asked, "power") / 3);
  expect(fleet.find(far.uuid, far.host)?.get("power")[grid.cellCount - 1]).toBe(300);
  expect([asked, near, far].map((one) => read(one, "memoryBytes") > 0)).toEqual([
    true,
    false,
    false,
  ]);
});
