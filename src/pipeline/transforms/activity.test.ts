import { expect, test } from "vitest";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet, labelValue } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { type AbsenceReason, presenceNames } from "../../model/presence.ts";
import type { Transform } from "../sink.ts";
import { createActivity } from "./activity.ts";

type Given = readonly [MetricEntry, number | AbsenceReason, Record<string, string>?];

const h200: Device = {
  uuid: "A",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};

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

/** The derived values, by name and their own labels. */
function added(activity: Transform, given: Frame, device = h200): Record<string, unknown> {
  const { frame: out } = activity({
    frame: given,
    source: "s",
    tier: "slow",
    freshForMs: 5_000,
    devices: [device],
  });
  return Object.fromEntries(
    out.layout.series.slice(given.layout.series.length).map(({ metric, labels }, at) => {
      const slot = given.layout.series.length + at;
      const own = labelValue(labels, "by") ?? labelValue(labels, "precision");
      const state = presenceNames[out.presence[slot] ?? 4];
      return [
        own === undefined ? metric.name : `${metric.name} ${own}`,
        state === "present" ? out.values[slot] : state,
      ];
    }),
  );
}

test("an estimate uses the source's mean clock where there is one, not the few readings of the frames", () => {
  const activity = createActivity();
  added(activity, fast(1_000, 1_400));
  const flops = added(
    activity,
    frame(2_000, [
      [gpu.tensorPipeActivity, 0.5, { pipe: "half" }],
      [gpu.clockMean, 1_800e6, { domain: "sm" }],
    ]),
  )["gpu_tensor_flops_estimate bf16"];
  expect(flops).toBeCloseTo(0.5 * 132 * 4_096 * 1_800e6 * 0.915, -10);
});

const fast = (timeMs: number, megahertz: number): Frame =>
  frame(timeMs, [
    [gpu.utilization, 1],
    [gpu.clock, megahertz * 1e6, { domain: "sm" }],
    [gpu.throttleActive, 1, { reason: "power_cap" }],
  ]);

/** A bf16 matrix product on an H200. */
const product: readonly Given[] = [
  [gpu.graphicsActivity, 0.99],
  [gpu.smActivity, 0.954],
  [gpu.tensorPipeActivity, 0.926, { pipe: "half" }],
  [gpu.tensorPipeActivity, 0, { pipe: "fp64" }],
  [gpu.fp32Activity, 0],
  [gpu.dramActivity, 0.173],
];

test("estimates come from the activity and the mean clock since the slow frame before", () => {
  const activity = createActivity();
  activity({
    frame: fast(1_000, 1_450),
    source: "s",
    tier: "fast",
    freshForMs: 1,
    devices: [h200],
  });
  activity({
    frame: fast(2_000, 1_500),
    source: "s",
    tier: "fast",
    freshForMs: 1,
    devices: [h200],
  });
  const out = added(activity, frame(5_000, product));
  expect(out).toEqual({
    "gpu_tensor_flops_estimate bf16": 675_706e9,
    "gpu_tensor_flops_estimate fp64": 0,
    gpu_fp32_flops_estimate: 0,
    gpu_dram_bytes_per_second_estimate: 833_722e6,
    "gpu_bound idle": 0,
    "gpu_bound tensor": 1,
  });
});

test("the assumed precision is the label, and its rate counts", () => {
  const activity = createActivity({ precision: "fp8" });
  activity({
    frame: fast(1_000, 1_475),
    source: "s",
    tier: "fast",
    freshForMs: 1,
    devices: [h200],
  });
  expect(added(activity, frame(5_000, product))["gpu_tensor_flops_estimate fp8"]).toBe(1_351_413e9);
});

test("a model without rates, or one without a clock, has no estimate, and still a bound", () => {
  const unknown = { ...h200, model: "NVIDIA H900" };
  for (const device of [unknown, h200]) {
    const activity = createActivity();
    if (device === unknown) added(activity, fast(1_000, 1_475), device);
    const out = added(activity, frame(5_000, product), device);
    expect(out["gpu_tensor_flops_estimate bf16"]).toBe("unsupported");
    expect(out["gpu_bound tensor"]).toBe(1);
  }
});

test("the bound is judged by the last minute, and a word that was seen stays as 0", () => {
  const activity = createActivity({ windowMs: 60_000 });
  const at = (timeMs: number, busy: number): Record<string, unknown> =>
    added(
      activity,
      frame(timeMs, [
        [gpu.graphicsActivity, busy],
        [gpu.smActivity, 0.01],
      ]),
    );
  expect(at(0, 0)).toEqual({ "gpu_bound idle": 1 });
  expect(at(30_000, 0.3)).toEqual({ "gpu_bound idle": 0, "gpu_bound host": 1 });
  expect(at(60_000, 0.99)).toEqual({ "gpu_bound idle": 0, "gpu_bound host": 1 });
  expect(at(90_000, 0.99)).toEqual({
    "gpu_bound idle": 0,
    "gpu_bound host": 0,
    "gpu_bound latency": 1,
  });
});

test.each(["asleep", "failed"] as const)(
  "a GPU that is %s has no bound, for that reason",
  (why) => {
    const activity = createActivity();
    added(activity, frame(0, product));
    added(activity, frame(4_000, [[gpu.utilization, why]]));
    expect(added(activity, frame(5_000, [[gpu.graphicsActivity, why]]))["gpu_bound tensor"]).toBe(
      why,
    );
  },
);

test("PCIe traffic is held against the link as it is now", () => {
  const copies = (generation: number): Frame =>
    frame(0, [
      [gpu.graphicsActivity, 0],
      [gpu.pcieThroughput, 25e9, { direction: "receive" }],
      [gpu.pcieThroughput, 1e9, { direction: "transmit" }],
      [gpu.pcieLinkGeneration, generation],
      [gpu.pcieLinkWidth, 16],
    ]);
  expect(added(createActivity(), copies(4))["gpu_bound link"]).toBe(1);
  expect(added(createActivity(), copies(5))["gpu_bound host"]).toBe(1);
});

/** Readings of an MI300X: utilisation, memory controller, clocks and throttling, but no compute units. */
test.each<readonly [string, number, number, number, unknown]>([
  ["busy memory", 1, 0.9, 0, 1],
  ["nothing to tell units apart by", 1, 0.2, 0, "unsupported"],
])("an AMD GPU with %s", (_, busy, memory, capped, wanted) => {
  const activity = createActivity();
  const amd = { ...h200, vendor: "amd", model: "AMD Instinct MI300X" };
  added(
    activity,
    frame(0, [
      [gpu.utilization, busy],
      [gpu.memoryControllerUtilization, memory],
      [gpu.throttleActive, capped, { reason: "power_cap" }],
    ]),
    amd,
  );
  const out = added(activity, frame(1_000, [[gpu.pcieLinkGeneration, 5]]), amd);
  expect(out["gpu_bound memory"] ?? out["gpu_bound idle"]).toBe(wanted);
});

test.each([
  [1, 1, "gpu_bound latency"],
  [8, "unsupported", "gpu_bound idle"],
] as const)(
  "one busy die of an AMD GPU in %d partitions is %s as %s",
  (partitions, wanted, name) => {
    const activity = createActivity();
    const amd = { ...h200, vendor: "amd", model: "AMD Instinct MI300X" };
    added(activity, frame(0, [[gpu.utilization, 0.12]]), amd);
    const dies = Array.from({ length: 8 }, (_, die): Given => {
      const share = die === 3 ? 0.99 : 0;
      return [gpu.dieActivity, share, { die: String(die) }];
    });
    const out = added(activity, frame(1_000, [[gpu.partitions, partitions], ...dies]), amd);
    expect(out[name]).toBe(wanted);
  },
);

test("a slow frame without any activity, as of a GPU's health, is left as it is", () => {
  expect(added(createActivity(), frame(0, [[gpu.powerLimit, 700]]))).toEqual({});
});

test("a frame that already has a bound, as of an agent that is passed on, stays as it is", () => {
  const given = frame(0, [...product, [gpu.bound, 1, { by: "tensor" }]]);
  expect(added(createActivity(), given)).toEqual({});
});
