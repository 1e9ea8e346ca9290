import { expect, test } from "vitest";
import { frameReadings } from "../../test/captures/readings.ts";
import { gpu } from "../model/catalogue/index.ts";
import type { SleepState } from "../machine/sysfs/pci.ts";
import { failed, present, type ReadResult } from "../machine/sysfs/read-result.ts";
import { type Card, CardSource, oncePerTick } from "./cards.ts";

function card(uuid: string, read: () => ReadResult<number> | Promise<ReadResult<number>>): Card {
  return {
    key: uuid,
    device: { uuid, index: 0, vendor: "amd", model: "Test", simulated: false },
    expected: [{ metric: gpu.power }],
    sleepState: async (): Promise<SleepState> => "awake",
    findChannels: async () =>
      [gpu.power, gpu.utilization, gpu.fanRpm].map((metric) => ({ metric, read })),
  };
}

function open(...cards: readonly Card[]): Promise<CardSource> {
  return CardSource.open({
    host: "box",
    nowMs: () => 0,
    cardDeadlineMs: 30,
    discover: async () => cards,
  });
}

test("a card that hangs is down, does not hold up the others, is not asked twice, and is read again when it answers", async () => {
  let asked = 0;
  let hangs = true;
  const waiting: ((reading: ReadResult<number>) => void)[] = [];
  const hanging = card("A", () => {
    asked++;
    return hangs ? new Promise((resolve) => waiting.push(resolve)) : present(1);
  });
  const source = await open(
    hanging,
    card("B", () => present(0.5)),
  );
  const first = await source.read("fast", 1_000);
  expect(frameReadings(first, 0)).toMatchObject({ gpu_up: 0, gpu_power_watts: "failed" });
  expect(frameReadings(first, 1)).toMatchObject({ gpu_up: 1, gpu_power_watts: 0.5 });
  await source.read("fast", 2_000);
  await source.read("fast", 3_000);
  expect(asked).toBe(3);
  hangs = false;
  for (const resolve of waiting) resolve(present(1));
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  const back = await source.read("fast", 4_000);
  expect(frameReadings(back, 0)).toMatchObject({ gpu_up: 1, gpu_power_watts: 1 });
});

test("a card whose every reading fails has fallen off the bus", async () => {
  const source = await open(card("A", () => failed));
  expect(frameReadings(await source.read("fast", 0))).toEqual({
    gpu_up: 0,
    gpu_asleep: "failed",
    gpu_power_watts: "failed",
    gpu_utilization_ratio: "failed",
    gpu_fan_rpm: "failed",
  });
});

test("the layout is the same object from frame to frame while nothing changes", async () => {
  const source = await open(card("A", () => present(1)));
  const first = await source.read("fast", 0);
  const later = await source.read("fast", 120_000);
  expect(later.layout).toBe(first.layout);
});

test("cards found later get the next index and keep it", async () => {
  const cards = [card("B", () => present(1))];
  const source = await CardSource.open({
    host: "box",
    nowMs: () => 0,
    discover: async () => cards,
  });
  await source.read("fast", 0);
  cards.unshift(card("A", () => present(1)));
  await source.read("fast", 5_000);
  expect(source.devices().map(({ uuid, index }) => [uuid, index])).toEqual([["B", 0]]);
  await source.read("fast", 10_000);
  expect(source.devices().map(({ uuid, index }) => [uuid, index])).toEqual([
    ["B", 0],
    ["A", 1],
  ]);
});

test("what several channels share is read once a tick", async () => {
  let reads = 0;
  const shared = oncePerTick(async () => ++reads);
  expect(await Promise.all([shared(1), shared(1), shared(2), shared(2)])).toEqual([1, 1, 2, 2]);
});
