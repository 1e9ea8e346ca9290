// Pages of the exporters in the versions that people run: other field sets, old and new names, labels that differ.

import { expect, test } from "vitest";
import { gpu, type MetricEntry } from "../../src/model/catalogue/index.ts";
import { ExporterFrames } from "../../src/formats/exporters/frames.ts";
import { labelSet } from "../../src/model/labels.ts";
import { ScrapeCache } from "../../src/sources/scrape/loop/scrape-cache.ts";
import { scrape, timeMs, valueOf } from "../fixtures/formats/exporters.ts";
import { scrapeConfig } from "../fixtures/sources/scrape.ts";

type Expected = readonly [
  metric: MetricEntry,
  labels: Readonly<Record<string, string>>,
  value: number | string,
];

function expectPage(page: string, uuids: readonly string[], expected: readonly Expected[]): void {
  const [found, ...others] = scrape(`${page.trim()}\n`);
  expect(others).toEqual([]);
  expect(found?.devices.map(({ uuid }) => uuid)).toEqual(uuids);
  const values = expected.map(([metric, labels]) => [
    metric.name,
    found && valueOf(found, metric, labels),
  ]);
  expect(values).toEqual(expected.map(([metric, , value]) => [metric.name, value]));
}

const dcgm = 'gpu="0",UUID="GPU-1",modelName="NVIDIA H100",Hostname="n"';

test("dcgm-exporter with fields beyond its default counters", () => {
  expectPage(
    `
DCGM_FI_DEV_POWER_USAGE_INSTANT{${dcgm}} 612.5
DCGM_FI_DEV_ENFORCED_POWER_LIMIT{${dcgm}} 700
DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX{${dcgm}} 700
DCGM_FI_DEV_SLOWDOWN_TEMP{${dcgm}} 87
DCGM_FI_DEV_SHUTDOWN_TEMP{${dcgm}} 92
DCGM_FI_DEV_FAN_SPEED{${dcgm}} 45
DCGM_FI_DEV_PSTATE{${dcgm}} 0
DCGM_FI_DEV_MAX_SM_CLOCK{${dcgm}} 1980
DCGM_FI_DEV_PCIE_LINK_GEN{${dcgm}} 5
DCGM_FI_DEV_PCIE_LINK_WIDTH{${dcgm}} 16
DCGM_FI_DEV_PCIE_TX_THROUGHPUT{${dcgm}} 2500
DCGM_FI_DEV_THERMAL_VIOLATION{${dcgm}} 3000000000
DCGM_FI_DEV_CLOCKS_EVENT_REASONS{${dcgm}} 132`,
    ["GPU-1"],
    [
      [gpu.powerInstant, {}, 612.5],
      [gpu.power, {}, 612.5],
      [gpu.powerLimit, {}, 700],
      [gpu.powerLimitMax, {}, 700],
      [gpu.temperatureLimit, { limit: "slowdown" }, 87],
      [gpu.temperatureLimit, { limit: "shutdown" }, 92],
      [gpu.fanSpeed, { fan: "1" }, 0.45],
      [gpu.performanceState, {}, 0],
      [gpu.clockMax, { domain: "sm" }, 1.98e9],
      [gpu.pcieLinkGeneration, {}, 5],
      [gpu.pcieLinkWidth, {}, 16],
      [gpu.pcieThroughput, { direction: "transmit" }, 2.5e6],
      [gpu.throttleSeconds, { reason: "thermal" }, 3],
      [gpu.clockEventReasons, {}, 132],
      [gpu.throttleActive, { reason: "power_cap" }, 1],
      [gpu.throttleActive, { reason: "power_brake" }, 1],
      [gpu.throttleActive, { reason: "thermal" }, 0],
      [gpu.throttleActive, { reason: "thermal_hardware" }, 0],
    ],
  );
});

test("dcgm-exporter without UUIDs: the PCI address identifies the GPU, or else its number", () => {
  const [byAddress] = scrape('DCGM_FI_DEV_GPU_TEMP{gpu="3",pci_bus_id="00000000:8A:00.0"} 41\n');
  expect(byAddress?.devices).toMatchObject([{ uuid: "nvidia-dcgm-0000:8a:00.0-node-1", index: 3 }]);
  const [byNumber] = scrape('DCGM_FI_DEV_GPU_TEMP{gpu="3"} 41\n');
  expect(byNumber?.devices).toMatchObject([{ uuid: "nvidia-dcgm-3-node-1", index: 3 }]);
});

test("dcgm-exporter 1.x: its names and its labels of pods", () => {
  const labels =
    'gpu="1",uuid="GPU-7",device="nvidia1",pod_name="train-0",pod_namespace="ml",container_name="main"';
  expectPage(
    `
dcgm_gpu_temp{${labels}} 66
dcgm_gpu_utilization{${labels}} 93
dcgm_fb_used{${labels}} 2048
dcgm_ecc_dbe_volatile_total{${labels}} 2
dcgm_memory_temp{${labels}} 0`,
    ["GPU-7"],
    [
      [gpu.temperature, { sensor: "edge" }, 66],
      [gpu.utilization, {}, 0.93],
      [gpu.memoryUsed, {}, 2048 * 2 ** 20],
      [gpu.eccErrors, { type: "uncorrected" }, 2],
      [gpu.temperature, { sensor: "memory" }, "exporter reports 0"],
      [gpu.ownerInfo, { pod: "train-0", namespace: "ml", container: "main" }, 1],
    ],
  );
});

const amd =
  'gpu_id="0",serial_number="692251001124",card_model="0x74a1",card_series="AMD Instinct MI300X",hostname="n",gpu_partition_id="0"';

test("AMD device-metrics-exporter on an MI300X: 0 for what the card does not have is no reading", () => {
  expectPage(
    `
gpu_average_package_power{${amd}} 0
gpu_package_power{${amd}} 412
gpu_edge_temperature{${amd}} 0
gpu_junction_temperature{${amd}} 61
gpu_memory_temperature{${amd}} 48
gpu_gfx_activity{${amd}} 0
gpu_gfx_voltage{${amd}} 0
gpu_energy_consumed{${amd}} 5000000
gpu_used_vram{${amd}} 283
gpu_total_vram{${amd}} 196592
gpu_clock{${amd},clock_index="0",clock_type="system"} 132
gpu_clock{${amd},clock_index="8",clock_type="memory"} 900
gpu_ecc_correct_total{${amd}} 12
gpu_ecc_uncorrect_total{${amd}} 0
gpu_health{${amd}} 1`,
    ["amd-692251001124"],
    [
      [gpu.eccErrors, { type: "corrected" }, 12],
      [gpu.eccErrors, { type: "uncorrected" }, 0],
      [gpu.power, {}, 412],
      [gpu.powerInstant, {}, 412],
      [gpu.temperature, { sensor: "edge" }, "exporter reports 0"],
      [gpu.temperature, { sensor: "hotspot" }, 61],
      [gpu.temperature, { sensor: "memory" }, 48],
      [gpu.utilization, {}, 0],
      [gpu.voltage, { rail: "gfx" }, "exporter reports 0"],
      [gpu.energy, {}, 5],
      [gpu.memoryUsed, {}, 283 * 2 ** 20],
      [gpu.memoryTotal, {}, 196_592 * 2 ** 20],
      [gpu.clock, { domain: "graphics" }, 132e6],
      [gpu.clock, { domain: "memory" }, 900e6],
    ],
  );
});

test("AMD device-metrics-exporter: power under either name, whichever has it", () => {
  for (const [average, usage] of [
    [0, 350],
    [350, 0],
  ])
    expectPage(
      `
gpu_average_package_power{${amd}} ${average}
gpu_power_usage{${amd}} ${usage}`,
      ["amd-692251001124"],
      [[gpu.power, {}, 350]],
    );
});

test("AMD device-metrics-exporter of the first versions: capitals, other clock types, no host", () => {
  const old =
    'CARD_MODEL="0xc34",DRIVER_VERSION="6.8.5",GPU_ID="2",GPU_UUID="0beb0a09-4200",JOB_ID="32",JOB_USER="vm"';
  expectPage(
    `
GPU_EDGE_TEMPERATURE{${old}} 32
GPU_CLOCK{${old},CLOCK_INDEX="0",CLOCK_TYPE="GPU_CLOCK_TYPE_SYSTEM"} 1500`,
    ["0beb0a09-4200"],
    [
      [gpu.temperature, { sensor: "edge" }, 32],
      [gpu.clock, { domain: "graphics", host: "node-1" }, 1.5e9],
      [gpu.ownerInfo, { workload: "32", user: "vm" }, 1],
    ],
  );
});

test("AMD amd_smi_exporter: the library's units", () => {
  const labels = (name: string) => `${name}="0",productname="AMD Instinct MI210"`;
  expectPage(
    `
amd_gpu_power{${labels("gpu_power")}} 41000000
amd_gpu_power_cap{${labels("gpu_power_cap")}} 0
amd_gpu_current_temperature{${labels("gpu_current_temperature")}} 36000
amd_gpu_use_percent{${labels("gpu_use_percent")}} 75`,
    ["amd-amd-smi-0-node-1"],
    [
      [gpu.power, {}, 41],
      [gpu.powerLimit, {}, "exporter reports 0"],
      [gpu.temperature, { sensor: "edge" }, 36],
      [gpu.utilization, {}, 0.75],
    ],
  );
});

const xpu =
  'uuid="00000000-0000-0000-1234",dev_name="Intel Data Center GPU Max 1550",pci_bdf="0000:4d:00.0"';

test("Intel XPU Manager 1: ratios are ratios, counters end in _total, cards and tiles are left out", () => {
  expectPage(
    `
xpum_engine_ratio{${xpu}} 0.42
xpum_engine_ratio{${xpu},sub_dev="0"} 0.9
xpum_power_watts{${xpu}} 310
xpum_power_watts{card="2147483648"} 620
xpum_energy_joules_total{${xpu}} 1234
xpum_temperature_celsius{${xpu},location="gpu"} 55
xpum_frequency_mhz{${xpu},location="gpu",type="actual"} 1600
xpum_memory_used_bytes{${xpu}} 1073741824`,
    ["00000000-0000-0000-1234"],
    [
      [gpu.utilization, {}, 0.42],
      [gpu.power, {}, 310],
      [gpu.energy, {}, 1234],
      [gpu.temperature, { sensor: "edge" }, 55],
      [gpu.clock, { domain: "graphics" }, 1.6e9],
      [gpu.memoryUsed, {}, 2 ** 30],
    ],
  );
});

test("Intel XPU Manager 2: names near OpenTelemetry's", () => {
  const of = 'hw_id="gpu-uuid-0",pci_bdf="0000:03:00.0"';
  expectPage(
    `
hw_gpu_info{${of},hw_model="Intel(R) Arc(TM) Pro B60 Graphics",hw_vendor="Intel(R) Corporation"} 1
hw_gpu_utilization_ratio{${of},hw_gpu_task="all"} 0.125
hw_gpu_utilization_ratio{${of},hw_gpu_task="compute-all"} 1
hw_memory_size_bytes{${of},hw_memory_location="device"} 25669140480
hw_memory_usage_bytes{${of},hw_memory_location="device"} 8589934592
hw_power_watts{${of},hw_sensor_location="card"} 31.5
hw_frequency_hertz{${of},aggregation="avg",hw_frequency_domain="gpu"} 960000000
hw_temperature_celsius{${of},hw_sensor_location="memory",statistic="max"} 40`,
    ["gpu-uuid-0"],
    [
      [gpu.utilization, {}, 0.125],
      [gpu.memoryTotal, {}, 25_669_140_480],
      [gpu.memoryUsed, {}, 8_589_934_592],
      [gpu.power, {}, 31.5],
      [gpu.clock, { domain: "graphics" }, 960e6],
      [gpu.temperature, { sensor: "memory" }, 40],
      [gpu.info, { vendor: "intel", model: "Intel(R) Arc(TM) Pro B60 Graphics" }, 1],
    ],
  );
});

test("all-smi: its own instance label is the host, and 0 is written for sensors that are not there", () => {
  const of = 'gpu="NVIDIA H200 141GB HBM3",instance="node-0058",uuid="GPU-12345",index="5"';
  expectPage(
    `
all_smi_gpu_utilization{${of}} 25.5
all_smi_gpu_memory_used_bytes{${of}} 8589934592
all_smi_gpu_temperature_celsius{${of}} 65
all_smi_gpu_power_consumption_watts{${of}} 0
all_smi_gpu_frequency_mhz{${of}} 0`,
    ["GPU-12345"],
    [
      [gpu.utilization, { host: "node-0058", gpu: "5" }, 0.255],
      [gpu.memoryUsed, {}, 8_589_934_592],
      [gpu.temperature, { sensor: "edge" }, 65],
      [gpu.power, {}, "exporter reports 0"],
      [gpu.clock, { domain: "graphics" }, "exporter reports 0"],
    ],
  );
});

test("nvitop-exporter: NaN is a sensor that is not there", () => {
  const of = 'hostname="h",index="0",devicename="NVIDIA L4",uuid="GPU-5"';
  expectPage(
    `
gpu_utilization_Percentage{${of}} 31
gpu_fan_speed_Percentage{${of}} NaN
gpu_power_usage_W{${of}} 0`,
    ["GPU-5"],
    [
      [gpu.utilization, { host: "h" }, 0.31],
      [gpu.fanSpeed, { fan: "1" }, "unsupported"],
      [gpu.power, {}, "exporter reports 0"],
    ],
  );
});

test("nvidia_gpu_exporter: why the clocks are low, limits and the GPU's description", () => {
  const uuid = 'uuid="df6e7a7c-7314-46f8-abc4-b88b36dcf3aa"';
  expectPage(
    `
nvidia_smi_gpu_info{${uuid},name="NVIDIA GeForce RTX 2080 SUPER",driver_version="470.82.01",vbios_version="90.04.7a.40.73"} 1
nvidia_smi_power_draw_watts{${uuid}} 22.33
nvidia_smi_power_limit_watts{${uuid}} 250
nvidia_smi_temperature_gpu{${uuid}} 34
nvidia_smi_utilization_gpu_ratio{${uuid}} 0.01
nvidia_smi_memory_used_bytes{${uuid}} 684720128
nvidia_smi_clocks_current_graphics_clock_hz{${uuid}} 6e+06
nvidia_smi_fan_speed_ratio{${uuid}} 0
nvidia_smi_pstate{${uuid}} 8
nvidia_smi_clocks_throttle_reasons_sw_power_cap{${uuid}} 1
nvidia_smi_clocks_event_reasons_sw_thermal_slowdown{${uuid}} 0`,
    ["GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa"],
    [
      [gpu.info, { model: "NVIDIA GeForce RTX 2080 SUPER", driver: "470.82.01" }, 1],
      [gpu.power, {}, 22.33],
      [gpu.powerLimit, {}, 250],
      [gpu.temperature, { sensor: "edge" }, 34],
      [gpu.utilization, {}, 0.01],
      [gpu.memoryUsed, {}, 684_720_128],
      [gpu.clock, { domain: "graphics" }, 6e6],
      [gpu.fanSpeed, { fan: "1" }, 0],
      [gpu.performanceState, {}, 8],
      [gpu.throttleActive, { reason: "power_cap" }, 1],
      [gpu.throttleActive, { reason: "thermal" }, 0],
    ],
  );
});

test("OpenTelemetry's names, with dots or underscores, with or without units", () => {
  const of = 'hw_id="GPU-9",hw_type="gpu",hw_vendor="Acme",hw_model="X1",host_name="h"';
  expectPage(
    `
hw_gpu_utilization_ratio{${of},hw_gpu_task="general"} 0.5
hw_gpu_memory_usage_bytes{${of}} 1000
hw_gpu_memory_limit_bytes{${of}} 4000
hw_energy_joules_total{${of}} 77
hw_power_watts{${of}} 200`,
    ["GPU-9"],
    [
      [gpu.utilization, { host: "h" }, 0.5],
      [gpu.memoryUsed, {}, 1000],
      [gpu.memoryTotal, {}, 4000],
      [gpu.energy, {}, 77],
      [gpu.power, {}, 200],
      [gpu.info, { vendor: "Acme", model: "X1" }, 1],
    ],
  );
});

test("node_exporter's DRM collector: each card of the host", () => {
  const [found] = scrape(
    [
      'node_drm_card_info{card="card0",memory_vendor="samsung",power_performance_level="manual",unique_id="0123",vendor="amd"} 1',
      'node_drm_gpu_busy_percent{card="card0"} 4',
      'node_drm_memory_vram_size_bytes{card="card0"} 16',
      'node_drm_memory_vram_used_bytes{card="card1"} 1000',
      "",
    ].join("\n"),
  );
  expect(found?.devices.map(({ uuid, index }) => [uuid, index])).toEqual([
    ["amd-node-drm-card0-node-1", 0],
    ["amd-node-drm-card1-node-1", 1],
  ]);
  expect(found && valueOf(found, gpu.utilization, { gpu: "0" })).toBe(0.04);
});

test("an exporter that ceases to report the memory's size: used and free still give it", () => {
  const frames = new ExporterFrames();
  const cache = new ScrapeCache(labelSet({ job: "gpu", instance: "node-1:9400" }));
  const read = (lines: readonly string[], atMs: number) => {
    const page = lines.map((line) => `${line}\n`).join("");
    cache.takePage(Buffer.from(page), "text/plain", atMs, atMs, scrapeConfig());
    const [found] = frames.frames(cache.finish());
    return found && valueOf(found, gpu.memoryTotal);
  };
  const parts = [`DCGM_FI_DEV_FB_USED{${dcgm}} 100`, `DCGM_FI_DEV_FB_FREE{${dcgm}} 300`];
  expect(read([...parts, `DCGM_FI_DEV_FB_TOTAL{${dcgm}} 410`], timeMs)).toBe(410 * 2 ** 20);
  expect(read(parts, timeMs + 15_000)).toBe(400 * 2 ** 20);
});

test("values in another unit than the exporter's are no readings, and the rest is read", () => {
  expectPage(
    `
DCGM_FI_DEV_POWER_USAGE{${dcgm}} 412500
DCGM_FI_DEV_GPU_UTIL{${dcgm}} 4200
DCGM_FI_DEV_GPU_TEMP{${dcgm}} 318
DCGM_FI_DEV_FB_USED{${dcgm}} 100`,
    ["GPU-1"],
    [
      [gpu.power, {}, "failed"],
      [gpu.utilization, {}, "failed"],
      [gpu.temperature, { sensor: "edge" }, "failed"],
      [gpu.memoryUsed, {}, 100 * 2 ** 20],
    ],
  );
});
