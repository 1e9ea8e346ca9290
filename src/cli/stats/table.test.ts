import { expect, test } from "vitest";
import { createStats, type HostFacts } from "../../agent/stats/stats.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { RecentPower } from "../../sinks/recent/power.ts";
import { unsupported } from "../../machine/sysfs/read-result.ts";
import { statsTable } from "./table.ts";

const card: Device = {
  uuid: "GPU-a",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H100",
  simulated: false,
};
const instance: Device = {
  ...card,
  uuid: "MIG-b",
  model: "NVIDIA H100 MIG 3g.40gb",
  parent: "GPU-a",
};

/** The table of these devices, with only their memory. */
function tableOf(...devices: readonly Device[]): string {
  const builder = new LayoutBuilder();
  for (const device of devices) builder.add(gpu.memoryUsed, deviceLabels(device, "h"));
  const writer = new FrameWriter(builder.build(), 1_000);
  devices.forEach((_, slot) => writer.set(slot, 2 ** 30));
  const delivery = {
    frame: writer.finish(),
    devices,
    source: "nvidia",
    tier: "fast",
    freshForMs: 5_000,
  } as const;
  const host: HostFacts = {
    name: "h",
    processor: "CPU",
    sockets: 1,
    cores: 8,
    threads: 16,
    availableThreads: 16,
    memoryBytes: 2 ** 34,
    memoryLimitBytes: unsupported,
  };
  const power = new RecentPower();
  return statsTable(createStats({ nowMs: 1_000, version: "1", host, fresh: [delivery], power }));
}

test.each([
  ["1 GPU\n", [card]],
  ["2 GPUs\n", [card, { ...card, uuid: "GPU-c", index: 1 }]],
  ["1 GPU with 1 MIG instance\n", [card, instance]],
  ["1 GPU with 2 MIG instances\n", [card, instance, { ...instance, uuid: "MIG-d" }]],
] as const)("counts %s", (count, devices) => {
  expect(tableOf(...devices)).toContain(`8 cores, ${count}`);
});

test("what a device has no reading for is unsupported: nothing failed", () => {
  const table = tableOf(card, instance);
  expect(table).toContain("n/a (unsupported)");
  expect(table).not.toContain("failed");
});
