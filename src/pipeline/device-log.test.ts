import { expect, test } from "vitest";
import type { Log, LogFields } from "../base/log.ts";
import { gpu, self } from "../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../model/device.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { LayoutBuilder } from "../model/layout.ts";
import { SelfFrames } from "../model/self-frames.ts";
import { DeviceLog } from "./device-log.ts";
import { collectSelf } from "./self.ts";
import { newSourceState } from "./source-state.ts";

const device: Device = {
  uuid: "GPU-7",
  index: 3,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};
const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.up, deviceLabels(device, "lab"));
  builder.add(gpu.temperature, deviceLabels(device, "lab", { sensor: "hotspot" }));
  builder.add(gpu.power, deviceLabels(device, "lab"));
  return builder.build();
})();

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

function watch() {
  const lines: LogLine[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const state = newSourceState("nvidia", ["fast"]);
  let nowMs = 0;
  const deviceLog = new DeviceLog({ state, log, nowMs: () => nowMs });
  const observe = (seconds: number, up: number, temperature = 60, power = 300): LogLine[] => {
    nowMs = seconds * 1_000;
    const writer = new FrameWriter(layout, nowMs);
    writer.set(0, up);
    writer.set(1, temperature);
    writer.set(2, power);
    const frame: Frame = writer.finish();
    deviceLog.observe(frame, [device], () => "NVML reports GPU_IS_LOST");
    return lines.splice(0);
  };
  return { state, observe };
}

const who = { source: "nvidia", gpu: 3, uuid: "GPU-7", model: "NVIDIA H200" };

test("a GPU that is lost and returns is logged once each, with its reason", () => {
  const { observe } = watch();
  expect(observe(0, 1)).toEqual([]);
  expect(observe(1, 0)).toEqual([
    {
      level: "warn",
      message: "GPU lost",
      fields: { ...who, reason: "NVML reports GPU_IS_LOST", lossesNotLogged: undefined },
    },
  ]);
  expect(observe(2, 0)).toEqual([]);
  expect(observe(31, 1)).toEqual([
    { level: "info", message: "GPU returned", fields: { ...who, lostSeconds: 30 } },
  ]);
});

test("a GPU that is down from the start is logged as lost", () => {
  const { observe } = watch();
  expect(observe(0, 0).map(({ message }) => message)).toEqual(["GPU lost"]);
});

test("a GPU that comes and goes is logged once an hour, with the losses in between", () => {
  const { observe } = watch();
  const lines = [];
  for (let second = 0; second < 4_000; second += 1) lines.push(...observe(second, second % 2));
  expect(lines.map(({ message, fields }) => [message, fields["lossesNotLogged"]])).toEqual([
    ["GPU lost", undefined],
    ["GPU returned", undefined],
    ["GPU lost", 1_799],
    ["GPU returned", undefined],
  ]);
});

test("a rejected reading is logged once with its raw value and reason, and counted each time", () => {
  const { state, observe } = watch();
  const [first, ...others] = observe(0, 1, 65_535);
  expect(first).toEqual({
    level: "warn",
    message: "reading rejected: it is reported as absent",
    fields: {
      ...who,
      metric: "gpu_temperature_celsius",
      sensor: "hotspot",
      value: 65_535,
      reason: "sentinel",
      plausible: gpu.temperature.plausible.join(" to "),
    },
  });
  expect(others).toEqual([]);
  expect(observe(1, 1, 65_535)).toEqual([]);
  // Another metric of the same GPU gets its own log line.
  expect(
    observe(2, 1, 65_535, -5).map(({ fields }) => [fields["metric"], fields["reason"]]),
  ).toEqual([["gpu_power_watts", "out_of_range"]]);
  const frame = new SelfFrames().at(0, [
    (put) =>
      collectSelf(put, 0, {
        version: "1",
        nodeVersion: "20",
        states: [state],
        outlets: [],
        served: [],
        process: { cpuSeconds: 0, residentBytes: 0, startTimeSeconds: 0, openFiles: 0 },
      }),
  ]);
  const counted = frame.layout.series.flatMap(({ metric, labels }, slot) =>
    metric === self.readingsRejected
      ? [`${labels.map(([, value]) => value).join(" ")} = ${frame.values[slot]}`]
      : [],
  );
  expect(counted).toEqual([
    "gpu_temperature_celsius sentinel nvidia = 3",
    "gpu_power_watts out_of_range nvidia = 1",
  ]);
});

test("a reading that recovers and is rejected again is logged again after an hour", () => {
  const { observe } = watch();
  expect(observe(0, 1, 65_535)).toHaveLength(1);
  expect(observe(10, 1, 60)).toEqual([]);
  expect(observe(20, 1, 65_535)).toEqual([]);
  expect(observe(3_590, 1, 60)).toEqual([]);
  expect(observe(3_601, 1, 65_535)).toHaveLength(1);
  // The metric has not recovered in between, so this is still the same failure.
  expect(observe(9_000, 1, 65_535)).toEqual([]);
});
