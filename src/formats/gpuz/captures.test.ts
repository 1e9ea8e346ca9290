import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { labelValue } from "../../model/labels.ts";
import { presenceNames } from "../../model/presence.ts";
import { GpuzFrames } from "./frames.ts";
import { type GpuzRow, RowParser } from "./rows.ts";
import { vendorOfColumns } from "./device.ts";

const folder = fileURLToPath(new URL("../../../../shared/captures/public/gpu-z/", import.meta.url));
const missing = existsSync(folder) ? "" : " (skipped: ../shared/captures/public/gpu-z is not here)";

function capture(log: string) {
  const parser = new RowParser();
  const rows = [...parser.push(readFileSync(folder + log)), ...parser.end()];
  const frames = new GpuzFrames(
    { uuid: "U", index: 0, vendor: "amd", model: "M", simulated: false },
    "pc",
  );
  const value = (row: GpuzRow | undefined, name: string, label?: string): number | string => {
    if (row === undefined) throw new Error("no such row");
    const frame = frames.frame(row, row.localMs);
    const slot = frame.layout.series.findIndex(
      ({ metric, labels }) =>
        metric.name === name &&
        (label === undefined ||
          metric.labels.some((own) => labelValue(labels, own.name) === label)),
    );
    const state = presenceNames[frame.presence[slot] ?? 4] ?? "";
    return state === "present" ? (frame.values[slot] ?? Number.NaN) : state;
  };
  const at = (date: string): GpuzRow | undefined =>
    rows.find(({ localMs }) => localMs === Date.parse(`${date.replace(" ", "T")}Z`));
  return { parser, rows, value, at };
}

test.skipIf(missing !== "")(`a real RX 5700 XT log, five sessions in one file${missing}`, () => {
  const { parser, rows, value, at } = capture("AMDdebug_rx5700xt_excerpt.txt");
  expect(parser.counts).toEqual({
    rows: 100,
    headers: 5,
    beforeHeader: 0,
    cut: 0,
    unusable: 0,
    decimalComma: 0,
  });
  expect(parser.header === undefined ? "" : vendorOfColumns(parser.header)).toBe("amd");
  const first = at("2020-03-16 17:13:05");
  expect(first).toBe(rows[0]);
  expect(value(first, "gpu_clock_hertz", "graphics")).toBe(789e6);
  expect(value(first, "gpu_clock_hertz", "memory")).toBe(200e6);
  expect(value(first, "gpu_clock_hertz", "video")).toBe(105e6);
  expect(value(first, "gpu_clock_hertz", "video_2")).toBe(102e6);
  expect(value(first, "gpu_temperature_celsius", "edge")).toBe(50);
  expect(value(first, "gpu_temperature_celsius", "vrm")).toBe(47);
  expect(value(first, "gpu_temperature_celsius", "vrm_memory")).toBe("unsupported");
  expect(value(first, "gpu_temperature_celsius", "vrm_memory2")).toBe("unsupported");
  expect(value(first, "gpu_memory_used_bytes")).toBe(534 * 1_048_576);
  expect(value(first, "gpu_memory_shared_used_bytes")).toBe(57 * 1_048_576);
  expect(value(first, "gpu_voltage_volts", "gfx")).toBe(0.725);
  expect(value(first, "host_cpu_temperature_celsius")).toBe(35);
  expect(value(first, "host_memory_used_bytes")).toBe(5470 * 1_048_576);

  const busy = at("2020-03-16 17:20:25");
  expect(value(busy, "gpu_utilization_ratio")).toBe(0.87);
  expect(value(busy, "gpu_chip_power_watts")).toBe(176);
  expect(value(busy, "gpu_fan_speed_ratio")).toBe(0.57);
  expect(value(busy, "gpu_fan_rpm")).toBe(2428);
  expect(value(busy, "gpu_voltage_volts", "gfx")).toBe(1.2);

  const last = at("2020-03-18 18:54:09");
  expect(last).toBe(rows.at(-1));
  expect(value(last, "gpu_clock_hertz", "graphics")).toBe(847e6);
  expect(value(last, "gpu_clock_hertz", "video")).toBe(0);
  expect(value(last, "gpu_chip_power_watts")).toBe(21);
  expect(value(last, "gpu_voltage_volts", "memory")).toBe(0.85);
  expect(value(last, "host_cpu_temperature_celsius")).toBe(35.3);
});

test.skipIf(missing !== "")(`a real log of a GeForce with two 6-pin plugs${missing}`, () => {
  const { parser, rows, value, at } = capture("gokayge_nvidia_6pin.txt");
  expect(parser.counts).toMatchObject({ rows: 9, headers: 1, unusable: 0, cut: 0 });
  expect(parser.header === undefined ? "" : vendorOfColumns(parser.header)).toBe("nvidia");
  const first = at("2021-08-02 23:28:33");
  expect(first).toBe(rows[0]);
  expect(value(first, "gpu_clock_hertz", "graphics")).toBe(914.5e6);
  expect(value(first, "gpu_clock_hertz", "memory")).toBe(1_502.3e6);
  expect(value(first, "gpu_temperature_celsius", "edge")).toBe(67);
  expect(value(first, "gpu_fan_speed_ratio")).toBe(0.38);
  expect(value(first, "gpu_fan_rpm")).toBe(1230);
  expect(value(first, "gpu_memory_used_bytes")).toBe(1697 * 1_048_576);
  expect(value(first, "gpu_utilization_ratio")).toBe(0.16);
  expect(value(first, "gpu_memory_controller_utilization_ratio")).toBe(0.06);
  expect(value(first, "gpu_decoder_utilization_ratio")).toBe(0);
  expect(value(first, "gpu_bus_utilization_ratio")).toBe(0.01);
  expect(value(first, "gpu_power_watts")).toBe(33.6);
  expect(value(first, "gpu_chip_power_watts")).toBe(69);
  expect(value(first, "gpu_rail_power_watts", "slot")).toBe(14.4);
  expect(value(first, "gpu_rail_power_watts", "6pin_1")).toBe(34.5);
  expect(value(first, "gpu_rail_power_watts", "6pin_2")).toBe(15.2);
  expect(value(first, "gpu_power_tdp_ratio")).toBe(0.239);
  expect(value(first, "gpu_voltage_volts", "gfx")).toBe(1.025);
  expect(value(first, "gpu_throttle_active", "power_cap")).toBe(0);
  expect(value(first, "gpuz_sensor_value", "PerfCap Reason")).toBe(16);
  expect(value(first, "host_memory_used_bytes")).toBe(11_515 * 1_048_576);

  const last = at("2021-08-02 23:28:41");
  expect(last).toBe(rows.at(-1));
  expect(value(last, "gpu_power_watts")).toBe(34.9);
  expect(value(last, "gpu_rail_power_watts", "6pin_2")).toBe(15.2);
  expect(value(last, "gpu_power_tdp_ratio")).toBe(0.248);
  expect(value(last, "host_cpu_temperature_celsius")).toBe(62);
});
