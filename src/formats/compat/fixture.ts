/** Frames for the tests of this folder: one GPU with the readings a test names, or with every reading there is. */
import { gpu, type LabelSpec, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { AbsenceReason } from "../../model/presence.ts";
import type { CompatInput } from "./compat.ts";

export const h200: Device = {
  uuid: "GPU-6f1a2b3c-0000-1111-2222-333344445555",
  index: 3,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  pciBusId: "0000:8a:00.0",
  driver: "580.159.04",
  vbios: "96.00.A5.00.1A",
};

export const mi300: Device = {
  uuid: "amd-0000:c1:00.0",
  index: 0,
  vendor: "amd",
  model: "AMD Instinct MI300X",
  partNumber: "102-G30211-0C",
  driver: "6.12.12",
  vbios: "113-M3000100-102",
  simulated: false,
};

export const mi250: Device = {
  ...mi300,
  uuid: "amd-0000:31:00.0",
  index: 2,
  model: "AMD Instinct MI250X",
  partNumber: "102-D65208-0C",
};

/** A desktop card, which reports no part number. */
export const radeon: Device = {
  uuid: "amd-0000:2d:00.0",
  index: 1,
  vendor: "amd",
  model: "AMD Radeon RX 7900 XTX",
  simulated: false,
};

export type CompatFixtureReading = readonly [
  metric: MetricEntry,
  labels: Readonly<Record<string, string>>,
  value: number | AbsenceReason,
];

export function inputOf(
  device: Device,
  readings: readonly CompatFixtureReading[],
  timeMs = 5_000,
): CompatInput {
  const builder = new LayoutBuilder();
  for (const [metric, labels] of readings)
    builder.add(
      metric,
      metric === gpu.info
        ? deviceInfoLabels(device, "node-1")
        : deviceLabels(device, "node-1", labels),
    );
  return { frame: frameOf(builder.build(), readings, timeMs), devices: [device] };
}

/** The same readings' next values, in the same layout. */
export function nextOf(
  before: CompatInput,
  readings: readonly CompatFixtureReading[],
): CompatInput {
  return { ...before, frame: frameOf(before.frame.layout, readings, before.frame.timeMs + 1_000) };
}

function frameOf(
  layout: Frame["layout"],
  readings: readonly CompatFixtureReading[],
  timeMs: number,
): Frame {
  const writer = new FrameWriter(layout, timeMs);
  readings.forEach(([, , value], slot) =>
    typeof value === "number" ? writer.set(slot, value) : writer.absent(slot, value),
  );
  return writer.finish();
}

const openValues: Readonly<Record<string, readonly string[]>> = {
  link: ["0", "1"],
  fan: ["1", "2"],
  rail: ["gfx", "soc", "memory"],
  xid: ["31", "79"],
  pid: ["4242"],
  process: ["python"],
  pod: ["trainer-0"],
  namespace: ["research"],
  container: ["main"],
  block:
    "athub bif df fuse gfx hdp ih jpeg mca mmhub mp0 mp1 mpio sdma sem smn umc vcn xgmi_wafl".split(
      " ",
    ),
};

/** Every reading of the catalogue about a GPU, with every value of its labels. */
export function everything(value: number | AbsenceReason): CompatFixtureReading[] {
  return Object.values(gpu).flatMap((metric: MetricEntry) =>
    combinations(metric === gpu.info ? [] : metric.labels).map((labels): CompatFixtureReading => [
      metric,
      labels,
      value,
    ]),
  );
}

function combinations(specs: readonly LabelSpec[]): Record<string, string>[] {
  return specs.reduce<Record<string, string>[]>(
    (sets, { name, values }) =>
      (values ?? openValues[name] ?? ["any"]).flatMap((value) =>
        sets.map((set) => ({ ...set, [name]: value })),
      ),
    [{}],
  );
}
