import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { LiveFleet } from "./fleet.ts";
import { readPast } from "./prime.ts";

const power = labelSet({ __name__: gpu.power.name, uuid: "GPU-1" });
const utilization = labelSet({ __name__: gpu.utilization.name, uuid: "GPU-1" });

test("readings of one second make one point; what ended is no point", async () => {
  const store = new MemoryStore();
  store.append(power, 1_000, 100);
  store.append(power, 2_400, 110);
  store.append(utilization, 1_000, 0.5);
  store.append(utilization, 2_000, 0, true);
  const past = await readPast(store, 0, 10_000, "h");
  expect(
    [...(past.get(deviceKey("h", "GPU-1")) ?? [])].sort(([left], [right]) => left - right),
  ).toEqual([
    [1, { utilization: 0.5, power: 100 }],
    [2, { power: 110 }],
  ]);
});

test("a fleet that was primed shows curves from before its start", async () => {
  const store = new MemoryStore();
  store.append(power, 8_000, 100);
  store.append(power, 9_000, 110);
  const fleet = new LiveFleet({ host: "h", version: "1" });
  fleet.prime(await readPast(store, 0, 10_000, "h"));
  const device = {
    uuid: "GPU-1",
    index: 0,
    vendor: "amd",
    model: "Card",
    simulated: false,
  } as const;
  const frame = {
    timeMs: 10_000,
    layout: { series: [] },
    values: new Float64Array(0),
    presence: new Uint8Array(0),
  };
  fleet.update(
    [{ frame, source: "s", tier: "fast", freshForMs: 5_000, devices: [device] }],
    [],
    10_000,
  );
  const { history } = fleet.describe();
  expect(history.points[0]?.[history.keys.indexOf("power")]?.slice(-3)).toEqual([100, 110, null]);
});

test("curves of two hosts with one uuid are kept apart", async () => {
  const store = new MemoryStore();
  for (const [host, watts] of [
    ["a", 300],
    ["b", 20],
  ] as const)
    store.append(labelSet({ __name__: gpu.power.name, uuid: "GPU-1", host }), 1_000, watts);
  const past = await readPast(store, 0, 10_000, "h");
  expect(["a", "b"].map((host) => past.get(deviceKey(host, "GPU-1"))?.get(1))).toEqual([
    { power: 300 },
    { power: 20 },
  ]);
});
