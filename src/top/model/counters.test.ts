import { expect, test } from "vitest";
import { NOW_MS, deviceOf, rowOf } from "../../../test/fixtures/top/top.ts";
import { gpuOf } from "../../view/gpu.ts";
import type { WireValue } from "../../view/live/protocol.ts";
import { CounterMemory } from "./counters.ts";

const device = deviceOf(0, { gpus: 1 });
const at = (second: number, values: Parameters<typeof rowOf>[0], slowAgeMs = 0) =>
  gpuOf(device, rowOf(values, { ageMs: { fast: 0, slow: slowAgeMs } }), NOW_MS + second * 1_000);

function rates(counter: readonly (readonly [second: number, value: WireValue])[]): WireValue[] {
  const memory = new CounterMemory();
  return counter.map(([second, interconnectRxTotal]) => {
    const gpu = at(second, { interconnectRxTotal });
    memory.update([gpu]);
    return memory.of(gpu).interconnectRx;
  });
}

test("a rate needs two readings and is held while the counter is not read again", () => {
  expect(
    rates([
      [0, 1_000],
      [5, 6_000],
      [6, 6_000],
      [10, 6_500],
    ]),
  ).toEqual(["stale", 1_000, 1_000, 100]);
});

test("a counter that stands still for long has a rate of 0", () => {
  expect(
    rates([
      [0, 1_000],
      [5, 2_000],
      [20, 2_000],
    ]),
  ).toEqual(["stale", 200, 0]);
});

test("a reset starts over, and an absent counter keeps its reason", () => {
  expect(
    rates([
      [0, 5_000],
      [5, 10],
      [10, 1_010],
      [15, "failed"],
      [20, 2_000],
    ]),
  ).toEqual(["stale", "stale", 200, "failed", "stale"]);
});

test("the time of a reading is that of its tier", () => {
  const memory = new CounterMemory();
  memory.update([at(0, { interconnectTxTotal: 0 }, 4_000)]);
  const gpu = at(10, { interconnectTxTotal: 14_000 }, 0);
  memory.update([gpu]);
  expect(memory.of(gpu).interconnectTx).toBe(1_000);
});

test("energy counts from the first reading, across a reset, on one counter", () => {
  const memory = new CounterMemory();
  const energies = [
    { energyIntegratedTotal: 500, energyTotal: 9e9 },
    { energyIntegratedTotal: 700, energyTotal: 9e9 },
    { energyIntegratedTotal: "failed", energyTotal: 9e9 },
    { energyIntegratedTotal: 50, energyTotal: 9e9 },
  ].map((values, second) => {
    const gpu = at(second, values as Parameters<typeof rowOf>[0]);
    memory.update([gpu]);
    return memory.of(gpu).energy;
  });
  expect(energies).toEqual([0, 200, 200, 250]);
});

test("a device without an integrated counter uses the hardware's, and one without both has a reason", () => {
  const memory = new CounterMemory();
  memory.update([at(0, { energyTotal: 1_000 })]);
  const gpu = at(1, { energyTotal: 1_400 });
  memory.update([gpu]);
  expect(memory.of(gpu).energy).toBe(400);
  const without = new CounterMemory();
  without.update([at(0, {})]);
  expect(without.of(at(0, {})).energy).toBe("unsupported");
});
