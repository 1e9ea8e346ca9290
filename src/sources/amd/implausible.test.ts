// Tests implausible values in the driver's files and in the tools' output: each becomes absent.

import { expect, test } from "vitest";
import { radeonTree } from "../../../test/captures/amd-card.ts";
import { metricsBlob } from "../../../test/captures/metrics-blob.ts";
import { type Readings, readAll } from "../../../test/captures/readings.ts";
import { temporaryFolder, type TreeFiles, writeTree } from "../../../test/captures/tree.ts";
import { silentLog } from "../../base/log.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { openAmd } from "./source.ts";
import { parseAmdSmiMetric } from "./tools/amd-smi.ts";
import { parseRocmSmi } from "./tools/rocm-smi.ts";
import type { ToolCard } from "./tools/tool-card.ts";
import type { ReadResult } from "../../machine/sysfs/read-result.ts";

async function readTree(files: TreeFiles): Promise<Readings> {
  const context = {
    host: "box",
    log: silentLog,
    nowMs: () => 0,
    sysfs: writeTree(files),
    procfs: temporaryFolder(),
  };
  const options = { processes: false, pcie: false, tools: "never" } as const;
  return readAll(await openAmd(options, context, hostFileAccess), 0);
}

/** Values of the first card by `metric label label`. */
function valuesOf(cards: ReadResult<readonly ToolCard[]>): Record<string, number> {
  if (!cards.ok) throw new Error(`no cards: ${cards.reason}`);
  return Object.fromEntries(
    (cards.value[0]?.values ?? []).map(({ metric, labels, value }) => [
      [metric, ...Object.values(labels ?? {})].join(" "),
      value,
    ]),
  );
}

const cardFolder = "class/drm/card1/device";
const anyClock = 'gpu_clock_hertz{domain="graphics"}';
const anyTemperature = 'gpu_temperature_celsius{sensor="edge"}';

/** Files of a card that report nothing: a form of all-ones, or an impossible zero. */
test.each([
  ["hwmon/hwmon3/fan1_input", "65535", 'gpu_fan_rpm{fan="1"}'],
  ["hwmon/hwmon3/fan1_input", "4294967295", 'gpu_fan_rpm{fan="1"}'],
  ["hwmon/hwmon3/in0_input", "65535", 'gpu_voltage_volts{rail="gfx"}'],
  ["hwmon/hwmon3/in0_input", "65535000", 'gpu_voltage_volts{rail="gfx"}'],
  ["hwmon/hwmon3/freq2_input", "65535000000", anyClock],
  ["hwmon/hwmon3/freq2_input", "4294967295", anyClock],
  ["hwmon/hwmon3/freq2_input", "18446744073709551615", anyClock],
  ["hwmon/hwmon3/power1_average", "4294967295", "gpu_power_watts"],
  ["hwmon/hwmon3/power1_average", "65535000000", "gpu_power_watts"],
  ["hwmon/hwmon3/power1_cap", "4294967295", "gpu_power_limit_watts"],
  ["hwmon/hwmon3/temp2_input", "65535", anyTemperature],
  ["hwmon/hwmon3/temp2_input", "65535000", anyTemperature],
  ["hwmon/hwmon3/temp2_input", "-1", anyTemperature],
  ["hwmon/hwmon3/temp2_input", "0", anyTemperature],
  ["hwmon/hwmon3/pwm1", "357", 'gpu_fan_speed_ratio{fan="1"}'],
  ["hwmon/hwmon3/pwm1", "65535", 'gpu_fan_speed_ratio{fan="1"}'],
  ["pp_dpm_sclk", "0: 500Mhz *\n1: 65535Mhz ", 'gpu_clock_max_hertz{domain="graphics"}'],
  ["pcie_replay_count", "4294967295", "gpu_pcie_replays_total"],
  ["gpu_busy_percent", "65535", "gpu_utilization_ratio"],
  ["mem_info_vram_used", "25753026561", "gpu_memory_used_bytes"],
  ["mem_info_vram_used", "25753026561", "gpu_memory_free_bytes"],
  ["mem_info_vram_used", "18446744073709551615", "gpu_memory_used_bytes"],
  ["mem_info_vis_vram_used", "25753026561", "gpu_memory_visible_used_bytes"],
  ["mem_info_gtt_used", "33554432001", "gpu_memory_shared_used_bytes"],
])("%s of %j is no reading", async (file, text, series) => {
  const all = await readTree({ ...radeonTree, [`${cardFolder}/${file}`]: text });
  expect(["failed", "unsupported", 500_000_000]).toContain(all[series]);
});

test("temperatures of 0 in the metrics table are sensors the card does not have", async () => {
  const table = metricsBlob("1.3", {
    temperatureEdge: 44,
    temperatureVrGfx: 0,
    temperatureVrSoc: 0,
    temperatureVrMemory: 0,
    temperatureHbm: [0, 0, 0, 0],
    socketPower: 30,
  });
  const all = await readTree({ ...radeonTree, [`${cardFolder}/gpu_metrics`]: table });
  expect(Object.keys(all).filter((name) => name.includes("vrm"))).toEqual([]);
});

const metricOf = (section: string, name: string, value: number, unit: string) =>
  JSON.stringify([{ gpu: 0, [section]: { [name]: { value, unit } } }]);

test.each([
  ["power", "socket_power", 4_294.967_295, "W"],
  ["power", "socket_power", 4_294.967, "W"],
  ["power", "socket_power", 65_535, "W"],
  ["power", "gfx_voltage", 65.535, "V"],
  ["power", "gfx_voltage", 65_535, "mV"],
  ["temperature", "edge", 65.535, "C"],
  ["temperature", "mem", 0, "C"],
  ["fan", "usage", 140, "%"],
  ["fan", "rpm", 4_294_967_295, "RPM"],
  ["usage", "gfx_activity", 655.35, "%"],
])("amd-smi's %s.%s of %s %s is no reading", (section, name, value, unit) =>
  expect(valuesOf(parseAmdSmiMetric(metricOf(section, name, value, unit)))).toEqual({}),
);

test("memory in use above the total is no reading, whichever tool reports it", () => {
  const megabytes = (value: number) => ({ value, unit: "MB" });
  const usage = {
    total_vram: megabytes(1_024),
    used_vram: megabytes(1_025),
    total_gtt: megabytes(8),
  };
  const page = JSON.stringify([{ gpu: 0, mem_usage: { ...usage, used_gtt: megabytes(8) } }]);
  expect(valuesOf(parseAmdSmiMetric(page))).toEqual({
    memoryTotal: 1_024 * 1_048_576,
    sharedMemoryTotal: 8 * 1_048_576,
    sharedMemoryUsed: 8 * 1_048_576,
  });
  const card0 = { "VRAM Total Memory (B)": "1000", "VRAM Total Used Memory (B)": "1001" };
  expect(valuesOf(parseRocmSmi(JSON.stringify({ card0 })))).toEqual({ memoryTotal: 1_000 });
});

test.each([
  ["Temperature (Sensor memory) (C)", "0.0"],
  ["Average Graphics Package Power (W)", "4294.967295"],
  ["Fan speed (%)", "140"],
  ["sclk clock speed:", "(65535Mhz)"],
  ["Voltage (mV)", "65535"],
])("rocm-smi's %s of %s is no reading", (key, text) =>
  expect(valuesOf(parseRocmSmi(JSON.stringify({ card0: { [key]: text } })))).toEqual({}),
);
