/** A small layout and frames of it, for the tests of the push format. */
import { gpu, ml } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { PushFrame } from "./frame.ts";
import type { Hello } from "./hello.ts";

export const devices: readonly Device[] = [
  { uuid: "GPU-a", index: 0, vendor: "nvidia", model: "H200", simulated: true, driver: "1.2" },
  { uuid: "GPU-b", index: 1, vendor: "amd", model: "MI300X", simulated: false, parent: "GPU-a" },
];

export function someLayout(): Layout {
  const builder = new LayoutBuilder();
  for (const device of devices) {
    builder.add(gpu.power, deviceLabels(device, "lab"));
    builder.add(gpu.temperature, deviceLabels(device, "lab", { sensor: "edge" }));
    builder.add(gpu.energy, deviceLabels(device, "lab"));
  }
  const histogram = ml.requestDuration;
  builder.add(histogram, labelSet({ host: "lab", le: "0.1" }), "_bucket");
  builder.add(histogram, labelSet({ host: "lab" }), "_sum");
  return builder.build();
}

export const hello: Hello = {
  agent: "lab:9400",
  session: "5f1c",
  version: "1.0.0",
  host: "lab",
  job: "gpulse",
  instance: "lab:9400",
  sentMs: 1_700_000_000_000,
  roundTripMs: 0,
  intervalMs: 1_000,
  spool: { records: 3, bytes: 400, lost: 1 },
  capabilities: ["frames/1"],
};

export function wireFrame(
  names: { readonly layout: string; readonly devices: string },
  sequence: number,
  values: readonly (number | "failed" | "asleep")[],
): PushFrame {
  return {
    ...names,
    sequence,
    source: "sim",
    host: "",
    tier: "fast",
    freshForMs: 5_000,
    timeMs: 1_700_000_000_000 + sequence * 1_000,
    presence: Uint8Array.from(values, (value) =>
      typeof value === "number" ? presence.present : presence[value],
    ),
    values: Float64Array.from(values, (value) => (typeof value === "number" ? value : 0)),
  };
}
