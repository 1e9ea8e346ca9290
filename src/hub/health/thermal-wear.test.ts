import { expect, test } from "vitest";
import { packGroups } from "../../alerting/pack/pack.ts";
import { silentLog } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import { deviceKey } from "../../model/device.ts";
import { createEngine } from "../../query/engine.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { ThermalWear, wearCondition } from "./thermal-wear.ts";

const hourMs = 3_600_000;
const stepMs = hourMs / 6;
const risesAtMs = 167 * hourMs;

/** Three GPUs of one machine at 70 °C, of which each changes by the given degrees a week later. */
function storeOf(changes: readonly number[]): MemoryStore {
  const store = new MemoryStore();
  changes.forEach((celsius, at) => {
    const labels = labelSet({
      __name__: "gpu_temperature_at_load_celsius",
      host: "node-1",
      uuid: `GPU-${at}`,
      gpu: String(at),
    });
    for (let timeMs = 0; timeMs <= 200 * hourMs; timeMs += stepMs)
      store.append(labels, timeMs, timeMs < risesAtMs ? 70 : 70 + celsius);
  });
  return store;
}

async function wearAt(hours: number, changes: readonly number[]): Promise<ThermalWear> {
  const engine = createEngine();
  const store = storeOf(changes);
  const wear = new ThermalWear({
    history: { instant: (query, timeMs) => engine.instant(query, timeMs, store) },
    log: silentLog,
    nowMs: () => hours * hourMs,
  });
  await wear.refresh();
  wear.close();
  return wear;
}

test("a GPU that is 8 °C hotter than a week ago, its neighbours 1 °C, is worn", async () => {
  const reasons = (await wearAt(190, [8, 1, 1])).reasons();
  expect([...reasons.keys()]).toEqual([deviceKey("node-1", "GPU-0")]);
  expect(reasons.get(deviceKey("node-1", "GPU-0"))).toMatchObject({
    check: "cooling",
    reason: "cooling_wears",
    state: "degraded",
    action: "inspect",
    text: expect.stringContaining("7.0 °C hotter than a week ago") as string,
    sinceMs: 184 * hourMs,
  });
});

test.each([
  [172, [8, 1, 1], "five hours of it"],
  [190, [8, 8, 7], "a warmer room"],
  [100, [8, 1, 1], "no week of history"],
])("after %d h, %j: %s is not wear", async (hours, changes) => {
  expect((await wearAt(hours, changes)).reasons().size).toBe(0);
});

test("a query that fails keeps the reasons found before", async () => {
  const engine = createEngine();
  const store = storeOf([8, 1, 1]);
  let fails = false;
  const wear = new ThermalWear({
    history: {
      instant: async (query, timeMs) => {
        if (fails) throw new Error("too many samples");
        return engine.instant(query, timeMs, store);
      },
    },
    log: silentLog,
    nowMs: () => 190 * hourMs,
  });
  await wear.refresh();
  fails = true;
  await wear.refresh();
  wear.close();
  expect(wear.reasons().size).toBe(1);
});

test("the condition is the one of the rule GpuCoolingWears", async () => {
  const rules = (await packGroups()).flatMap(({ rules: own }) => own);
  const rule = rules.find(({ name }) => name === "GpuCoolingWears");
  const bare = (text: string): string => text.replaceAll(/\s/g, "");
  expect(bare(rule?.expr ?? "")).toBe(bare(wearCondition));
});
