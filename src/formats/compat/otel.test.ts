import { expect, test } from "vitest";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceLabels } from "../../model/device.ts";
import { h200 } from "../../../test/fixtures/formats/compat.ts";
import { otelDevice, otelRows, otelSeries } from "./otel.ts";

function reported(metric: MetricEntry, labels: Record<string, string> = {}) {
  return otelSeries({ metric, suffix: "", labels: deviceLabels(h200, "node-1", labels) }, h200);
}

test("a GPU's own metrics carry what the conventions ask for", () => {
  expect(reported(gpu.utilization)).toMatchObject([
    {
      name: "hw.gpu.utilization",
      instrument: "gauge",
      unit: "1",
      attributes: {
        "hw.id": "GPU-6f1a2b3c-0000-1111-2222-333344445555",
        "hw.name": "GPU 3",
        "hw.vendor": "NVIDIA",
        "hw.model": "NVIDIA H200",
        "hw.driver_version": "580.159.04",
        "hw.firmware_version": "96.00.A5.00.1A",
        "hw.gpu.task": "general",
      },
    },
  ]);
});

test.each<[string, string, string, MetricEntry, Record<string, string>]>([
  ["hw.gpu.memory.limit", "updowncounter", "By", gpu.memoryTotal, {}],
  ["hw.gpu.memory.usage", "updowncounter", "By", gpu.memoryUsed, {}],
  ["hw.gpu.memory.utilization", "gauge", "1", gpu.memoryUsedRatio, {}],
  ["hw.errors", "counter", "{error}", gpu.eccErrors, { type: "uncorrected" }],
  ["hw.energy", "counter", "J", gpu.energy, {}],
  ["hw.power", "gauge", "W", gpu.power, {}],
  ["hw.temperature", "gauge", "Cel", gpu.temperature, { sensor: "edge" }],
  ["hw.temperature.limit", "gauge", "Cel", gpu.temperatureLimit, { limit: "shutdown" }],
  ["hw.fan.speed", "gauge", "rpm", gpu.fanRpm, { fan: "1" }],
  ["hw.fan.speed_ratio", "gauge", "1", gpu.fanSpeed, { fan: "1" }],
  ["hw.voltage", "gauge", "V", gpu.voltage, { rail: "gfx" }],
])("%s is a %s in %s", (name, instrument, unit, metric, labels) => {
  expect(reported(metric, labels)).toMatchObject([{ name, instrument, unit }]);
});

test("a sensor is a component of its own, under the GPU", () => {
  expect(reported(gpu.temperature, { sensor: "memory" })[0]?.attributes).toEqual({
    "hw.id": "GPU-6f1a2b3c-0000-1111-2222-333344445555/temperature/memory",
    "hw.name": "GPU 3 memory",
    "hw.parent": "GPU-6f1a2b3c-0000-1111-2222-333344445555",
    "hw.sensor_location": "memory",
  });
});

test("a GPU that answers is ok and not failed; a lost one the other way round", () => {
  const states = reported(gpu.up).map(({ attributes, convert }) => [
    attributes["hw.state"],
    convert(1),
    convert(0),
  ]);
  expect(states).toEqual([
    ["ok", 1, 0],
    ["failed", 0, 1],
  ]);
});

test("errors say their kind, and other limits have no word", () => {
  expect(reported(gpu.eccErrors, { type: "corrected" })[0]?.attributes).toMatchObject({
    "hw.type": "gpu",
    "error.type": "corrected",
  });
  expect(reported(gpu.temperatureLimit, { limit: "target" })).toEqual([]);
  expect(reported(gpu.pcieReplays)).toEqual([]);
});

test("every name is in the hardware namespace, and simulated GPUs say so", () => {
  for (const { name } of otelRows) expect(name).toMatch(/^hw\.[a-z_.]+$/);
  expect(otelDevice({ ...h200, simulated: true })).toMatchObject({ simulated: "true" });
});
