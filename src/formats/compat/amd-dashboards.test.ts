// Runs the selectors of AMD's own Grafana dashboards (device-metrics-exporter 1.4.1) against our page.

import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import { amd } from "./amd.ts";
import { CompatFrames } from "./compat.ts";
import {
  type CompatFixtureReading,
  inputOf,
  mi250,
  mi300,
  radeon,
} from "../../../test/fixtures/formats/compat.ts";

/** Boards whose utilization the dashboards read from gpu_gfx_activity: MI250X, MI210, MI250. */
const byActivity = /^(?:102-D65208-0C|102-D67305-00|102-D65209-0C)$/;
/** Boards for which the dashboards use the current power and the junction temperature: MI300A and MI300X. */
const byJunction = /^(?:102-G3021[13]-0[0C]|102-G30211-4C|102-G30212-0C)$/;

interface Selected {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** The present series of a name, as an instant query returns them. */
function select(
  device: Device,
  readings: readonly CompatFixtureReading[],
  name: string,
): readonly Selected[] {
  const [frame] = new CompatFrames([amd]).of([inputOf(device, readings)]);
  return (frame?.layout.series ?? []).flatMap(({ metric, labels }, slot) =>
    metric.name === name && frame?.presence[slot] === presence.present
      ? [{ labels: new Map(labels), value: frame.values[slot] ?? Number.NaN }]
      : [],
  );
}

const model = ({ labels }: Selected): string => labels.get("card_model") ?? "";
const owner: CompatFixtureReading = [
  gpu.ownerInfo,
  { workload: "4711", pod: "trainer-0", namespace: "ml" },
  1,
];
const busy: readonly CompatFixtureReading[] = [owner, [gpu.up, {}, 1], [gpu.utilization, {}, 0.97]];

/**
 * `gpu_gfx_activity{card_model=~MI200}` and `gpu_gfx_busy_instantaneous{card_model!~MI200}`, which each panel shows side by side.
 */
function usage(device: Device): readonly Selected[] {
  return [
    ...select(device, busy, "gpu_gfx_activity").filter((one) => byActivity.test(model(one))),
    ...select(device, busy, "gpu_gfx_busy_instantaneous").filter(
      (one) => !byActivity.test(model(one)),
    ),
  ];
}

test.each([mi300, mi250, radeon])(
  "the usage, job and count panels find $model exactly once",
  (device) => {
    const found = usage(device);
    expect(found.map(({ value }) => value)).toEqual([97]);
    expect(found.map(({ labels }) => labels.get("job_id"))).toEqual(["4711"]);
    expect(found.map(({ labels }) => labels.get("pod"))).toEqual(["trainer-0"]);
    expect(found.map(({ labels }) => labels.get("gpu_uuid"))).toEqual([device.uuid]);
  },
);

test.each<[Device, readonly CompatFixtureReading[], string, number]>([
  [
    mi300,
    [
      [gpu.power, {}, 700],
      [gpu.powerInstant, {}, 712],
    ],
    "gpu_package_power",
    712,
  ],
  [mi300, [[gpu.power, {}, 700]], "gpu_package_power", 700],
  [mi250, [[gpu.power, {}, 480]], "gpu_average_package_power", 480],
  [
    radeon,
    [
      [gpu.power, {}, 301],
      [gpu.powerInstant, {}, 322],
    ],
    "gpu_average_package_power",
    301,
  ],
  [radeon, [[gpu.chipPower, {}, 210]], "gpu_average_package_power", 210],
])("the total of current and average power counts $model once", (device, readings, name, watts) => {
  const names = ["gpu_average_package_power", "gpu_package_power"];
  const found = names.flatMap((one) =>
    select(device, readings, one).map(({ value }) => [one, value]),
  );
  expect(found).toEqual([[name, watts]]);
});

test.each<[Device, string, string]>([
  [mi300, "hotspot", "gpu_junction_temperature"],
  [mi250, "edge", "gpu_edge_temperature"],
  [radeon, "edge", "gpu_edge_temperature"],
])("the temperature panel finds $model by its sensor", (device, sensor, name) => {
  const found = select(device, [[gpu.temperature, { sensor }, 64]], name);
  expect(found.map((one) => byJunction.test(model(one)))).toEqual([
    name === "gpu_junction_temperature",
  ]);
});

test.each([
  ["recovery", "pcie_recovery_count"],
  ["replay_rollover", "pcie_replay_rollover_count"],
  ["nak_sent", "pcie_nack_sent_count"],
  ["nak_received", "pcie_nack_received_count"],
])("the PCIe counts panel has the count of %s as %s", (event, name) => {
  const found = select(mi300, [[gpu.pcieLinkEvents, { event }, 5]], name);
  expect(found.map(({ value }) => value)).toEqual([5]);
});

test("the text panels find vendor, series, model, firmware and driver, and a board without a number has no model", () => {
  const [found] = select(mi300, [[gpu.up, {}, 1]], "gpu_health");
  expect(Object.fromEntries(found?.labels ?? [])).toMatchObject({
    card_vendor: "Advanced Micro Devices, Inc. [AMD/ATI]",
    card_series: "AMD Instinct MI300X",
    card_model: "102-G30211-0C",
    vbios_version: "113-M3000100-102",
    driver_version: "6.12.12",
  });
  const [frame] = new CompatFrames([amd]).of([inputOf(radeon, [[gpu.up, {}, 1]])]);
  expect(frame?.layout.series.map(({ labels }) => labelValue(labels, "card_model"))).toEqual([
    undefined,
  ]);
});
