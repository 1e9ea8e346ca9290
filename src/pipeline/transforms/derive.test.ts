import { expect, test } from "vitest";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { type AbsenceReason, type PresenceName, presenceNames } from "../../model/presence.ts";
import { createDerive, EnergyIntegral } from "./derive.ts";
import type { Transform } from "../sink.ts";

type Given = readonly [MetricEntry, number | AbsenceReason, Record<string, string>?];

function frame(timeMs: number, given: readonly Given[]): Frame {
  const builder = new LayoutBuilder();
  for (const [metric, , extra] of given)
    builder.add(metric, labelSet({ uuid: "A", gpu: "0", host: "h", ...extra }));
  const writer = new FrameWriter(builder.build(), timeMs);
  given.forEach(([, value], slot) =>
    typeof value === "number" ? writer.set(slot, value) : writer.absent(slot, value),
  );
  return writer.finish();
}

function derived(
  derive: Transform,
  given: Frame,
  metric: MetricEntry,
): number | PresenceName | undefined {
  const { frame: out } = derive({
    frame: given,
    source: "s",
    tier: "fast",
    freshForMs: 5_000,
    devices: [],
  });
  const slot = out.layout.series.findIndex((series) => series.metric === metric);
  if (slot < 0) return undefined;
  const state = presenceNames[out.presence[slot] ?? 4];
  return state === "present" ? out.values[slot] : state;
}

const facts = frame(0, [
  [gpu.memoryTotal, 1_000],
  [gpu.temperatureLimit, 90, { limit: "slowdown" }],
  [gpu.temperatureLimit, 100, { limit: "shutdown" }],
]);

function informed(): Transform {
  const derive = createDerive();
  derived(derive, facts, gpu.memoryTotal);
  return derive;
}

test("memory ratio and margin use what the static tier reported", () => {
  const fast = frame(1_000, [
    [gpu.memoryUsed, 250],
    [gpu.temperature, 60, { sensor: "edge" }],
  ]);
  expect(derived(informed(), fast, gpu.memoryUsedRatio)).toBe(0.25);
  expect(derived(informed(), fast, gpu.temperatureMargin)).toBe(30);
});

test("the margin is taken from the hotspot where there is one", () => {
  const fast = frame(1_000, [
    [gpu.temperature, 60, { sensor: "edge" }],
    [gpu.temperature, 85.5, { sensor: "hotspot" }],
  ]);
  expect(derived(informed(), fast, gpu.temperatureMargin)).toBe(4.5);
});

test("without the total or the limit the derived value is unsupported, never 0", () => {
  const fast = frame(1_000, [
    [gpu.memoryUsed, 250],
    [gpu.temperature, 60, { sensor: "edge" }],
  ]);
  expect(derived(createDerive(), fast, gpu.memoryUsedRatio)).toBe("unsupported");
  expect(derived(createDerive(), fast, gpu.temperatureMargin)).toBe("unsupported");
});

test.each(["asleep", "denied", "failed", "unsupported"] as const)(
  "an input that is %s makes the derived value so too",
  (reason) => {
    expect(derived(informed(), frame(1_000, [[gpu.memoryUsed, reason]]), gpu.memoryUsedRatio)).toBe(
      reason,
    );
    expect(derived(informed(), frame(1_000, [[gpu.power, reason]]), gpu.energyIntegrated)).toBe(
      reason,
    );
  },
);

test("a computed series is marked as such, and a reported one is not", () => {
  const read = frame(1_000, [
    [gpu.temperature, 60, { sensor: "edge" }],
    [gpu.memoryUsed, 1_000],
  ]);
  const { layout } = informed()({
    frame: read,
    source: "test",
    tier: "fast",
    freshForMs: 5_000,
    devices: [],
  }).frame;
  expect(
    layout.series.map(({ metric, derived: isDerived }) => [metric.name, isDerived === true]),
  ).toEqual([
    ["gpu_temperature_celsius", false],
    ["gpu_memory_used_bytes", false],
    ["gpu_memory_used_ratio", true],
    ["gpu_temperature_margin_celsius", true],
  ]);
});

test("a vendor's own margin is kept", () => {
  const fast = frame(1_000, [
    [gpu.temperature, 60, { sensor: "edge" }],
    [gpu.temperatureMargin, 19],
  ]);
  expect(derived(informed(), fast, gpu.temperatureMargin)).toBe(19);
});

test("energy is the integral of power over the frames seen", () => {
  const derive = createDerive();
  const at = (timeMs: number, watts: number): unknown =>
    derived(derive, frame(timeMs, [[gpu.power, watts]]), gpu.energyIntegrated);
  expect([at(0, 100), at(1_000, 100), at(2_000, 200)]).toEqual([0, 100, 250]);
});

test("energy does not bridge gaps nor fall when the clock is set back", () => {
  const energy = new EnergyIntegral();
  const add = (timeMs: number, watts: number): number => energy.add("A", timeMs, watts, 5_000);
  expect([
    add(0, 100),
    add(1_000, 100),
    add(60_000, 100),
    add(61_000, 100),
    add(30_000, 100),
    add(31_000, 100),
  ]).toEqual([0, 100, 100, 200, 200, 300]);
});

test("a message of a log stays as it was put there, whichever reader reads it and from where on", () => {
  const given = frame(1_000, [[gpu.power, 100]]);
  const delivery = {
    frame: given,
    source: "kafka",
    tier: "stream",
    freshForMs: 5_000,
    devices: [],
    origin: { log: "gpu-metrics", partition: 0, offset: 7 },
  } as const;
  expect(createDerive()(delivery).frame).toBe(given);
});

test("GPUs of two hosts with one uuid have their own totals and energy", () => {
  const derive = createDerive();
  const of = (host: string, given: readonly Given[], timeMs: number): Frame =>
    frame(
      timeMs,
      given.map(([metric, value, extra]) => [metric, value, { ...extra, host }] as const),
    );
  for (const [host, bytes] of [
    ["a", 1_000],
    ["b", 4_000],
  ] as const)
    derived(derive, of(host, [[gpu.memoryTotal, bytes]], 0), gpu.memoryTotal);
  expect(derived(derive, of("a", [[gpu.memoryUsed, 500]], 1), gpu.memoryUsedRatio)).toBe(0.5);
  for (const [timeMs, host, watts] of [
    [1_000, "a", 100],
    [1_000, "b", 10],
    [2_000, "a", 100],
  ] as const)
    derived(derive, of(host, [[gpu.power, watts]], timeMs), gpu.power);
  expect(derived(derive, of("b", [[gpu.power, 10]], 2_000), gpu.energyIntegrated)).toBe(10);
});
