// Tests a driver reload, after which the driver lists its GPUs in another order, or without one of them. Old handles then belong
// to other GPUs: no reading may appear under another GPU's UUID, and a missing GPU stays down.

import { expect, test } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import { type Values, eventually, read, useStub } from "./harness.ts";

const nvml = useStub();

/** GPU n draws (n + 1) × 100 W at any position in the driver's list. */
const gpu = (place: number, n: number): string[] => [
  `${place}.uuid GPU-0000000${n}-0000-4000-8000-000000000000`,
  `${place}.pci 00000000:1${n}:00.0`,
  `${place}.power ${(n + 1) * 100_000}`,
  `${place}.energy ${(n + 1) * 1_000_000}`,
];
const listing = (...order: readonly number[]): string[] => [
  `gpus ${order.length}`,
  ...order.flatMap((n, place) => gpu(place, n)),
];

/** Readings that belong to another GPU. */
function foreign(values: Values): string[] {
  return [...values].flatMap(([name, value]) => {
    const [n = "", metric = ""] = name.split(" ");
    const own = Number(n) + 1;
    const wanted = { "gpu_power_watts{}": own * 100, "gpu_energy_joules_total{}": own * 1_000 };
    const expected = wanted[metric as keyof typeof wanted];
    return expected === undefined || typeof value === "string" || value === expected
      ? []
      : [`${name} is ${value}`];
  });
}

const gone = ["*.power.rc 9", "*.uuid.rc 9", "init.rc 9", "count.rc 9"];

test.for([
  ["the first of three is gone", [1, 2]],
  ["the middle one is gone", [0, 2]],
  ["they are in another order, the last gone", [1, 0]],
  ["they are all there in another order", [2, 0, 1]],
] as const)(
  "after a reload in which %s each GPU has its own readings",
  { timeout: 40_000 },
  async ([, order]) => {
    nvml.stub.script(...listing(0, 1, 2));
    const source = nvml.open();
    await read(source, "fast");
    await read(source, "slow");
    nvml.stub.script("gpus 3", ...gone);
    expect((await read(source, "fast")).get("0 gpu_up{}")).toBe(0);
    nvml.stub.script(...listing(...order));
    await eventually(source, "fast", `${order[0]} gpu_up{}`, 1);
    const missing = [0, 1, 2].filter((n) => !order.some((one) => one === n));
    // Longer than the interval between two checks of a lost GPU.
    const endMs = performance.now() + 3_000;
    while (performance.now() < endMs) {
      for (const tier of ["fast", "slow"] as const)
        expect(foreign(await read(source, tier))).toEqual([]);
      const fast = await read(source, "fast");
      for (const n of missing)
        expect([n, fast.get(`${n} gpu_up{}`), fast.get(`${n} gpu_power_watts{}`)]).toEqual([
          n,
          0,
          "failed",
        ]);
      for (const n of order) expect([n, fast.get(`${n} gpu_up{}`)]).toEqual([n, 1]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  },
);

test(
  "handles that change their GPU without any error code are noticed before a reading is handed on",
  { timeout: 40_000 },
  async () => {
    nvml.stub.script(...listing(0, 1));
    const source = nvml.open();
    await read(source, "fast");
    await read(source, "slow");
    nvml.stub.script(...listing(1, 0));
    const wrong: string[] = [];
    await waitUntil({ what: "both to be back", timeoutMs: 15_000 }, async () => {
      wrong.push(...foreign(await read(source, "slow")));
      const fast = await read(source, "fast");
      wrong.push(...foreign(fast));
      return fast.get("0 gpu_power_watts{}") === 100 && fast.get("1 gpu_power_watts{}") === 200
        ? true
        : undefined;
    });
    expect(wrong).toEqual([]);
  },
);

test(
  "a GPU that was gone at the reload is read again when the driver lists it, without another reload",
  { timeout: 40_000 },
  async () => {
    nvml.stub.script(...listing(0, 1));
    const source = nvml.open();
    await read(source, "fast");
    nvml.stub.script("gpus 2", ...gone);
    await read(source, "fast");
    nvml.stub.script(...listing(1));
    await eventually(source, "fast", "1 gpu_up{}", 1);
    nvml.stub.script(...listing(1, 0));
    await waitUntil({ what: "the GPU to be back", timeoutMs: 20_000 }, async () => {
      const fast = await read(source, "fast");
      expect(foreign(fast)).toEqual([]);
      return fast.get("0 gpu_power_watts{}") === 100 ? true : undefined;
    });
  },
);
