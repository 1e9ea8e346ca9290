/** Small made-up deliveries for the tests of this folder: two GPUs whose readings a test chooses. */
import type { MetricEntry, Tier } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { AbsenceReason } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";

export const first: Device = {
  uuid: "GPU-aaaa",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  pciBusId: "0000:0f:00.0",
};
export const second: Device = {
  uuid: "GPU-bbbb",
  index: 1,
  vendor: "amd",
  model: "AMD Instinct MI300X",
  simulated: true,
};

export type DeliveryReading = readonly [
  device: Device,
  metric: MetricEntry,
  value: number | AbsenceReason,
  labels?: Readonly<Record<string, string>>,
];

export function delivery(
  tier: Tier | "stream",
  timeMs: number,
  given: readonly DeliveryReading[],
  devices: readonly Device[] = [first, second],
): Delivery {
  const layout = new LayoutBuilder();
  const slots = given.map(([device, metric, , labels]) =>
    layout.add(metric, deviceLabels(device, "lab", labels)),
  );
  const writer = new FrameWriter(layout.build(), timeMs);
  given.forEach(([, , value], at) => {
    const slot = slots[at] ?? -1;
    if (typeof value === "number") writer.set(slot, value);
    else writer.absent(slot, value);
  });
  return { frame: writer.finish(), source: "test", tier, freshForMs: 3_000, devices };
}
