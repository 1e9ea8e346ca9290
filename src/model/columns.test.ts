import { expect, test } from "vitest";
import { gpu, gpuz, host, type MetricEntry, ml } from "./catalogue/index.ts";
import { labelSet } from "./labels.ts";
import type { SampleSuffix } from "./layout.ts";
import { aliases, findColumn } from "./aliases.ts";
import { columnOf, columns, identityColumns, seriesOf } from "./columns.ts";

const at = (
  metric: MetricEntry,
  labels: Record<string, string> = {},
  suffix: SampleSuffix = "",
): string | undefined =>
  columnOf({ metric, suffix, labels: labelSet({ uuid: "A", gpu: "0", host: "h", ...labels }) });

test("a column is its metric and the values of its labels in their order", () => {
  expect(at(gpu.power)).toBe("gpu_power_watts");
  expect(at(gpu.temperature, { sensor: "edge" })).toBe("gpu_temperature_celsius_edge");
  expect(at(gpu.clock, { domain: "graphics" })).toBe("gpu_clock_hertz_graphics");
  expect(at(gpu.throttleActive, { reason: "thermal" })).toBe("gpu_throttle_active_thermal");
  expect(at(gpu.fanRpm, { fan: "2" })).toBe("gpu_fan_rpm_2");
  expect(at(gpu.engineUtilization, { engine: "video-enhance" })).toBe(
    "gpu_engine_utilization_ratio_video_enhance",
  );
  expect(at(host.cpuTemperature, { sensor: "package" })).toBe(
    "host_cpu_temperature_celsius_package",
  );
});

test("what has no column goes to the long table: information, histograms, and labels of any value", () => {
  expect(at(gpu.info, { model: "X" })).toBeUndefined();
  expect(at(gpu.interconnectBytes, { link: "0", direction: "receive" })).toBeUndefined();
  expect(at(gpu.fanRpm, { fan: "9" })).toBeUndefined();
  expect(at(gpuz.sensorValue, { sensor: "PerfCap Reason" })).toBeUndefined();
  expect(at(ml.stepDuration, {}, "_sum")).toBeUndefined();
  expect(at(host.cpuTemperature, { chip: "k10temp-0", sensor: "package" })).toBeUndefined();
  expect(at(gpu.power, { cluster: "east" })).toBeUndefined();
});

test("every column leads to its series and back, and none has the name of another or of an identity", () => {
  for (const { name, metric, labels } of columns) {
    expect(columnOf({ metric, suffix: "", labels })).toBe(name);
    expect(seriesOf(name)).toMatchObject({ metric, labels });
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
  }
  const names = [...identityColumns, ...columns.map(({ name }) => name)];
  expect(new Set(names).size).toBe(names.length);
});

test("every alias stands for a column that exists, in the unit GPU-Z logs have", () => {
  expect(aliases.filter(({ column }) => seriesOf(column) === undefined)).toEqual([]);
  expect(new Set(aliases.map(({ name }) => name)).size).toBe(aliases.length);
  expect(findColumn("gpu_load")).toMatchObject({ column: "gpu_utilization_ratio", scale: 100 });
  expect(findColumn("8_pin_1_power")).toMatchObject({ column: "gpu_rail_power_watts_8pin_1" });
  expect(findColumn("gpu_power_watts")).toMatchObject({ column: "gpu_power_watts", scale: 1 });
  expect(findColumn("nothing")).toBeUndefined();
});
