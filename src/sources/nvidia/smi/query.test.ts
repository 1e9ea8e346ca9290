import { describe, expect, test } from "vitest";
import { noCaptures, publicCapture } from "../../../../test/captures/public.ts";
import {
  ownCapture,
  processesOf,
  readingsOf,
} from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parseSmiXml } from "./query-xml.ts";

const MIB = 1_048_576;

/** Keeps only the readings named in `wanted`. */
function only(read: Record<string, unknown>, wanted: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, read[name]]));
}

test("an H200 under load as XML reports everything nvidia-smi knew", () => {
  const [one, ...others] = parseSmiXml(ownCapture("load.q.xml"));
  expect(others).toEqual([]);
  expect(one?.device).toEqual({
    uuid: "GPU-11111111-2222-3333-4444-555555555555",
    index: 0,
    minor: 0,
    vendor: "nvidia",
    model: "NVIDIA H200",
    simulated: false,
    pciBusId: "0000:00:06.0",
    driver: "580.159.04",
    vbios: "96.00.A5.00.1A",
  });
  expect(one?.processes).toEqual([
    { pid: 507, kind: "compute", memoryBytes: 1130 * MIB, name: "python3" },
  ]);
  expect(readingsOf(one)).toEqual({
    gpu_utilization_ratio: 0.99,
    gpu_memory_controller_utilization_ratio: 0.24,
    gpu_encoder_utilization_ratio: 0,
    gpu_decoder_utilization_ratio: 0,
    gpu_jpeg_utilization_ratio: 0,
    gpu_ofa_utilization_ratio: 0,
    gpu_memory_used_bytes: 1139 * MIB,
    gpu_memory_free_bytes: 142_018 * MIB,
    gpu_memory_total_bytes: 143_771 * MIB,
    gpu_memory_reserved_bytes: 616 * MIB,
    gpu_memory_visible_used_bytes: 1140 * MIB,
    gpu_memory_visible_total_bytes: 262_144 * MIB,
    "gpu_temperature_celsius{sensor=edge}": 60,
    "gpu_temperature_celsius{sensor=memory}": 46,
    gpu_temperature_margin_celsius: 19,
    "gpu_temperature_limit_celsius{limit=target}": "unsupported",
    gpu_power_watts: 693.31,
    gpu_power_average_watts: 693.31,
    gpu_power_instant_watts: 687.41,
    gpu_memory_power_watts: 117.27,
    gpu_power_limit_watts: 700,
    gpu_power_limit_default_watts: 700,
    gpu_power_limit_min_watts: 200,
    gpu_power_limit_max_watts: 700,
    "gpu_clock_hertz{domain=graphics}": 1470e6,
    "gpu_clock_hertz{domain=sm}": 1470e6,
    "gpu_clock_hertz{domain=memory}": 3201e6,
    "gpu_clock_hertz{domain=video}": 1500e6,
    "gpu_clock_max_hertz{domain=graphics}": 1980e6,
    "gpu_clock_max_hertz{domain=sm}": 1980e6,
    "gpu_clock_max_hertz{domain=memory}": 3201e6,
    "gpu_clock_max_hertz{domain=video}": 1545e6,
    "gpu_fan_speed_ratio{fan=1}": "unsupported",
    gpu_performance_state: 0,
    gpu_clock_event_reasons_mask: 4,
    "gpu_throttle_active{reason=power_cap}": 1,
    "gpu_throttle_active{reason=power_brake}": 0,
    "gpu_throttle_active{reason=thermal}": 0,
    "gpu_throttle_active{reason=thermal_hardware}": 0,
    "gpu_throttle_active{reason=sync_boost}": 0,
    "gpu_throttle_active{reason=clock_setting}": 0,
    "gpu_throttle_seconds_total{reason=power_cap}": 4.208551,
    "gpu_throttle_seconds_total{reason=sync_boost}": 0,
    "gpu_throttle_seconds_total{reason=thermal}": 0,
    "gpu_throttle_seconds_total{reason=thermal_hardware}": 0,
    "gpu_throttle_seconds_total{reason=power_brake}": 0,
    gpu_pcie_link_generation: 5,
    gpu_pcie_link_generation_max: 5,
    gpu_pcie_link_width: 16,
    gpu_pcie_link_width_max: 16,
    "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 7_816_000,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": 15_673_000,
    gpu_pcie_replays_total: 0,
    "gpu_ecc_errors_total{type=corrected}": 0,
    "gpu_ecc_errors_total{type=uncorrected}": 0,
    "gpu_ecc_lifetime_errors_total{type=corrected}": 0,
    "gpu_ecc_lifetime_errors_total{type=uncorrected}": 0,
    gpu_ecc_enabled: 1,
    gpu_ecc_pending: 1,
    "gpu_retired_pages{cause=corrected}": "unsupported",
    "gpu_retired_pages{cause=uncorrected}": "unsupported",
    gpu_retired_pages_pending: "unsupported",
    "gpu_remapped_rows{cause=corrected}": 0,
    "gpu_remapped_rows{cause=uncorrected}": 0,
    gpu_remapped_rows_pending: 0,
    gpu_row_remap_failed: 0,
    gpu_persistence_enabled: 1,
    gpu_mig_enabled: 0,
    gpu_mig_pending: 0,
    gpu_compute_mode: 0,
    gpu_recovery_action: 0,
    gpu_fabric_state: "unsupported",
  });
});

test("an H200 reports margins, idle and loaded, and no limit is computed from them", () => {
  const limits = ["idle", "load", "after"].map((phase) => {
    const read = readingsOf(parseSmiXml(ownCapture(`${phase}.q.xml`))[0]);
    const numbers = Object.entries(read).filter(
      ([name, cell]) => name.startsWith("gpu_temperature_limit") && typeof cell === "number",
    );
    return [read["gpu_temperature_margin_celsius"], numbers];
  });
  expect(limits).toEqual([
    [49, []],
    [19, []],
    [48, []],
  ]);
});

test("an idle H200's idle bit is in the mask, and holds no clock down", () => {
  const wanted = {
    gpu_utilization_ratio: 0,
    gpu_power_watts: 128.82,
    gpu_power_instant_watts: 82.98,
    gpu_clock_event_reasons_mask: 1,
    "gpu_throttle_active{reason=power_cap}": 0,
  };
  expect(only(readingsOf(parseSmiXml(ownCapture("idle.q.xml"))[0]), wanted)).toEqual(wanted);
});

test.for([
  ["<power_draw>ERR!</power_draw>", "failed"],
  ["<power_draw>N/A</power_draw>", "unsupported"],
  ["<power_draw>[Not Supported]</power_draw>", "unsupported"],
  ["<power_draw>[Insufficient Permissions]</power_draw>", "denied"],
  ["<power_draw>GPU is lost</power_draw>", "failed"],
  ["<power_draw>12 bananas</power_draw>", "failed"],
  ["<power_draw>12 constructor</power_draw>", "failed"],
  ["<power_draw></power_draw>", "failed"],
  ["<power_draw>4294967.29 W</power_draw>", 4_294_967.29],
] as const)("%s is %s", ([element, wanted]) => {
  const xml = `<nvidia_smi_log><gpu id="0"><uuid>GPU-a</uuid><power_readings>${element}</power_readings></gpu></nvidia_smi_log>`;
  expect(readingsOf(parseSmiXml(xml)[0])).toEqual({ gpu_power_watts: wanted });
});

test("text that is no answer gives no GPU", () => {
  for (const text of [
    "",
    "No devices were found",
    "<gpu/>",
    "<nvidia_smi_log>",
    "\0\0",
    "a,b\nc,d",
  ]) {
    expect(parseSmiXml(text)).toEqual([]);
  }
});

const xmlCaptures: readonly (readonly [string, Record<string, number | string>])[] = [
  [
    "telegraf_a100-sxm4-v12.xml",
    {
      gpu_utilization_ratio: "unsupported",
      gpu_memory_used_bytes: 50 * MIB,
      gpu_power_watts: 67.03,
      gpu_power_limit_watts: 500,
      "gpu_temperature_celsius{sensor=memory}": 44,
      "gpu_temperature_limit_celsius{limit=shutdown}": 92,
      "gpu_temperature_limit_celsius{limit=memory}": 95,
      "gpu_voltage_volts{rail=gfx}": 0.9125,
      gpu_compute_mode: 0,
      gpu_mig_enabled: 1,
      "gpu_clock_hertz{domain=memory}": 1593e6,
      "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 4e6,
    },
  ],
  [
    "telegraf_gtx-1070-ti.xml",
    {
      gpu_utilization_ratio: 0,
      gpu_memory_total_bytes: 4096 * MIB,
      "gpu_fan_speed_ratio{fan=1}": 1,
      gpu_power_watts: "unsupported",
      gpu_performance_state: 8,
      "gpu_clock_hertz{domain=sm}": 135e6,
    },
  ],
  [
    "telegraf_quadro-p400.xml",
    {
      "gpu_fan_speed_ratio{fan=1}": 0.34,
      "gpu_temperature_limit_celsius{limit=slowdown}": 100,
      "gpu_throttle_active{reason=power_cap}": 0,
      "gpu_ecc_errors_total{type=corrected}": "unsupported",
      gpu_pcie_link_generation: 1,
      gpu_power_limit_watts: "unsupported",
    },
  ],
  [
    "telegraf_rtx-3080-v12.xml",
    {
      gpu_memory_used_bytes: 1128 * MIB,
      gpu_power_watts: 22.78,
      gpu_power_limit_watts: 336,
      "gpu_temperature_limit_celsius{limit=slowdown}": 95,
      gpu_ecc_enabled: "unsupported",
    },
  ],
  [
    "telegraf_rtx-3080-v13.xml",
    {
      gpu_utilization_ratio: 0.65,
      gpu_power_watts: 139.62,
      gpu_power_instant_watts: 142.33,
      gpu_performance_state: 2,
      "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 1_066_699_000,
      "gpu_clock_hertz{domain=sm}": 1950e6,
    },
  ],
  [
    "telegraf_tesla-t4.xml",
    {
      gpu_memory_used_bytes: 1032 * MIB,
      gpu_power_watts: 26.78,
      gpu_power_limit_watts: 70,
      gpu_power_limit_min_watts: 60,
      gpu_pcie_link_generation: 3,
      gpu_ecc_enabled: 1,
      "gpu_temperature_limit_celsius{limit=slowdown}": 93,
    },
  ],
];

describe("captures from ../shared/captures/public", () => {
  test.skipIf(noCaptures).for(xmlCaptures)("%s", ([name, wanted]) => {
    const text = publicCapture("nvidia-smi-xml", name).toString();
    const [one] = parseSmiXml(text);
    expect(only(readingsOf(one), wanted)).toEqual(wanted);
  });

  test.skipIf(noCaptures)("an A100 in MIG mode has four instances with memory of their own", () => {
    const text = publicCapture("nvidia-smi-xml", "telegraf_a100-sxm4-v12.xml").toString();
    const [, ...instances] = parseSmiXml(text);
    expect(instances.map(({ device }) => device.uuid.replace(/^MIG-GPU-[^/]*/, ""))).toEqual([
      "/3/0",
      "/4/0",
      "/5/0",
      "/6/0",
    ]);
    expect(readingsOf(instances[0])).toEqual({
      gpu_memory_used_bytes: 12 * MIB,
      gpu_memory_free_bytes: 19_955 * MIB,
      gpu_memory_total_bytes: 19_968 * MIB,
      gpu_memory_reserved_bytes: 0,
    });
  });

  test.skipIf(noCaptures)(
    "processes of an RTX 3080 with a desktop are graphics, each with its memory",
    () => {
      const text = publicCapture("nvidia-smi-xml", "telegraf_rtx-3080-v12.xml").toString();
      const processes = processesOf(parseSmiXml(text)[0]);
      expect(processes.map(({ pid }) => pid)).toEqual([835, 1481, 2214, 4044, 42_416]);
      expect(processes.map(({ kind }) => kind)).toEqual(
        Array.from({ length: 5 }, () => "graphics"),
      );
      expect(processes[0]?.memoryBytes).toBe(550 * MIB);
    },
  );
});
