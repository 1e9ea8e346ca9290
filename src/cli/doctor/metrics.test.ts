import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import type { DeviceView, DeviceReading } from "../../sinks/latest/devices.ts";
import { metricFindings } from "./metrics.ts";

function view(index: number, readings: readonly Partial<DeviceReading>[]): DeviceView {
  const device: Device = {
    uuid: `GPU-${index}`,
    index,
    vendor: "amd",
    model: "Card",
    simulated: false,
  };
  const full = readings.map((reading): DeviceReading => ({
    metric: gpu.power,
    labels: deviceLabels(device, "h"),
    timeMs: 0,
    source: "amd",
    ...reading,
  }));
  return { device, host: "h", readings: full };
}

test("one row per metric: the first value, how many GPUs report it, and why others do not", () => {
  const views = [
    view(0, [{ absent: "asleep" }]),
    view(1, [{ value: 80 }]),
    view(2, [{ value: 90 }]),
    view(3, [{ absent: "denied" }]),
  ];
  expect(metricFindings(views)).toEqual([
    {
      metric: "gpu_power_watts",
      unit: "watts",
      told: 2,
      example: 80,
      absent: { asleep: 1, denied: 1 },
    },
  ]);
});

test("series of one GPU are distinguished by their own labels, never by the owner's", () => {
  const device: Device = {
    uuid: "GPU-0",
    index: 0,
    vendor: "amd",
    model: "Card",
    simulated: false,
  };
  const at = (sensor: string): Partial<DeviceReading> => ({
    metric: gpu.temperature,
    labels: deviceLabels(device, "h", { sensor }),
    value: 50,
  });
  expect(
    metricFindings([view(0, [at("edge"), at("hotspot")])]).map(({ metric }) => metric),
  ).toEqual([
    'gpu_temperature_celsius{sensor="edge"}',
    'gpu_temperature_celsius{sensor="hotspot"}',
  ]);
});

test("nothing read gives no row, and no value is made up", () => {
  expect(metricFindings([])).toEqual([]);
  expect(metricFindings([view(0, [{ absent: "failed" }])])[0]).not.toHaveProperty("example");
});
