import path from "node:path";
import { describe, expect, test } from "vitest";
import { noCaptures, publicFolder } from "../../../test/captures/public.ts";
import { readAll } from "../../../test/captures/readings.ts";
import { mountCapture, temporaryFolder } from "../../../test/captures/tree.ts";
import { silentLog } from "../../base/log.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { PolledSource } from "../source.ts";
import { openAmd } from "./source.ts";

function capture(name: string): Promise<PolledSource> {
  const sysfs = mountCapture(path.join(publicFolder, "sysfs", name));
  const context = { host: "box", log: silentLog, nowMs: () => 0, sysfs, procfs: temporaryFolder() };
  return openAmd({ processes: false, pcie: false, tools: "never" }, context, hostFileAccess);
}

describe("captures from ../shared/captures/public", () => {
  test.skipIf(noCaptures)("an RX 6900 XT, padded with NULs", async () => {
    const source = await capture("lact_amd_rx6900xt");
    expect(source.devices()).toEqual([
      {
        uuid: "GPU-946d7e1ef9b172dd",
        index: 0,
        vendor: "amd",
        model: "AMD Radeon RX 6900 XT",
        simulated: false,
        pciBusId: "0000:0c:00.0",
        vbios: "113-D4121EXT-CO1",
      },
    ]);
    expect(await readAll(source, 0)).toMatchObject({
      gpu_utilization_ratio: 0.03,
      gpu_chip_power_watts: 36,
      gpu_power_limit_watts: 289,
      gpu_power_limit_max_watts: 332,
      gpu_memory_used_bytes: 668_274_688,
      gpu_memory_total_bytes: 17_163_091_968,
      gpu_memory_shared_used_bytes: 62_369_792,
      'gpu_temperature_celsius{sensor="edge"}': 56,
      'gpu_temperature_celsius{sensor="hotspot"}': 59,
      'gpu_temperature_celsius{sensor="memory"}': 54,
      'gpu_temperature_celsius{sensor="vrm_memory"}': 51,
      'gpu_temperature_limit_celsius{limit="slowdown"}': 110,
      'gpu_clock_hertz{domain="graphics"}': 500_000_000,
      'gpu_clock_hertz{domain="memory"}': 1_000_000_000,
      'gpu_clock_max_hertz{domain="graphics"}': 2_660_000_000,
      'gpu_clock_max_hertz{domain="video"}': "unsupported",
      'gpu_voltage_volts{rail="gfx"}': 0.775,
      'gpu_fan_rpm{fan="1"}': 0,
      gpu_pcie_link_generation: 4,
      gpu_pcie_link_width: 16,
      'gpu_pcie_errors_total{severity="fatal"}': 0,
      gpu_energy_joules_total: "failed",
    });
  });

  test.skipIf(noCaptures)("an RX 7800 XT, without an id or a power folder", async () => {
    const source = await capture("lact_amd_rx7800xt");
    expect(source.devices()[0]).toMatchObject({
      uuid: "amd-0000:03:00.0-96620e151803",
      model: "AMD Radeon RX 7700 / 7700 XT / 7800 XT / 7800M",
    });
    const all = await readAll(source, 0);
    expect(all).toMatchObject({
      gpu_utilization_ratio: 0.02,
      gpu_power_watts: 32,
      gpu_power_limit_min_watts: 212,
      'gpu_temperature_celsius{sensor="memory"}': 48,
      'gpu_clock_hertz{domain="graphics"}': 2_011_000_000,
      'gpu_clock_max_hertz{domain="graphics"}': 2_254_000_000,
      'gpu_fan_rpm{fan="1"}': 868,
      'gpu_fan_speed_ratio{fan="1"}': 0.35,
    });
    // The card's energy counter always reads 0, so it is not reported.
    expect(all).not.toHaveProperty("gpu_energy_joules_total");
    expect(all).not.toHaveProperty("gpu_memory_used_bytes");
  });

  test.skipIf(noCaptures)("an RX 5700 XT, without gpu_metrics", async () => {
    expect(await readAll(await capture("lact_amd_rx5700xt"), 0)).toMatchObject({
      gpu_up: 1,
      gpu_chip_power_watts: 29,
      gpu_power_limit_watts: 220,
      'gpu_temperature_celsius{sensor="memory"}': 62,
      'gpu_temperature_limit_celsius{limit="memory"}': 105,
      'gpu_clock_hertz{domain="graphics"}': 10_000_000,
      'gpu_clock_max_hertz{domain="graphics"}': 1_900_000_000,
      'gpu_voltage_volts{rail="gfx"}': 1.1,
      'gpu_fan_speed_ratio{fan="1"}': 0.25,
    });
  });

  test.skipIf(noCaptures)("a Phoenix APU", async () => {
    const source = await capture("lact_amd_phoenix");
    expect(source.devices()[0]).toMatchObject({ vbios: "113-PHXGENERIC-001" });
    const all = await readAll(source, 0);
    expect(all).toMatchObject({
      gpu_utilization_ratio: 0,
      gpu_video_utilization_ratio: 0,
      gpu_power_watts: 3.103,
      gpu_power_instant_watts: 3_142 / 1_000,
      'gpu_rail_power_watts{rail="gfx"}': 0.585,
      'gpu_rail_power_watts{rail="soc"}': 0.743,
      gpu_memory_total_bytes: 4_294_967_296,
      gpu_memory_shared_total_bytes: 31_433_977_856,
      gpu_memory_shared_used_bytes: 211_398_656,
      'gpu_temperature_celsius{sensor="edge"}': 25,
      'gpu_temperature_celsius{sensor="soc"}': 27.4,
      'gpu_clock_hertz{domain="memory"}': 400_000_000,
      'gpu_clock_hertz{domain="fabric"}': 400_000_000,
      'gpu_clock_max_hertz{domain="graphics"}': 2_700_000_000,
      'gpu_voltage_volts{rail="soc"}': 0.615,
    });
    expect(Object.keys(all).filter((name) => /pcie_link|fan|throttle/.test(name))).toEqual([]);
  });
});
