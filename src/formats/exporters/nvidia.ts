/** Exporters of NVIDIA GPUs: dcgm-exporter (present and old names), nvidia_gpu_exporter, nvitop-exporter. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { mebibytes, megahertz, percent } from "../compat/convert.ts";
import { dcgm as dcgmCompat, dcgmOld as dcgmOldCompat } from "../compat/dcgm.ts";
import { nvidiaSmi as nvidiaSmiCompat } from "../compat/nvidia-smi.ts";
import {
  type ExporterGpu,
  type ExporterLabels,
  type ExporterMetric,
  type ExporterTable,
  metricsOf,
  ownerFromPodLabels,
} from "./table.ts";
import { invertTable } from "./written.ts";

/** `00000000:8A:00.0` as the kernel writes it: four digits of domain, lower case. */
function kernelBusId(text: string | undefined): string | undefined {
  const parts = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(text ?? "");
  return parts === null
    ? undefined
    : `${parts[1]?.slice(-4).toLowerCase()}:${parts[2]?.toLowerCase()}`;
}

/** A MIG instance has its GPU's UUID and an id of its own there. */
function identifyDcgm(labels: ExporterLabels): ExporterGpu | undefined {
  const { UUID: uuid, GPU_I_ID: instance, GPU_I_PROFILE: profile } = labels;
  if (uuid === undefined) return undefined;
  const isInstance = instance !== undefined && instance !== "";
  const model = labels["modelName"];
  const job = labels["hpc_job"];
  const owner = ownerFromPodLabels(labels);
  return {
    uuid: isInstance ? `${uuid}/${instance}` : uuid,
    parent: isInstance ? uuid : undefined,
    index: labels["gpu"],
    vendor: "nvidia",
    model:
      isInstance && profile !== undefined && model !== undefined
        ? `${model} MIG ${profile}`
        : model,
    driver: labels["DCGM_FI_DRIVER_VERSION"],
    pciBusId: kernelBusId(labels["pci_bus_id"]),
    host: labels["Hostname"] ?? labels["hostname"],
    owner: job === undefined ? owner : { ...owner, workload: job },
    simulated: labels["simulated"] === "true",
  };
}

const profiling =
  "add the DCGM_FI_PROF_* fields to dcgm-exporter's counters file (-f) and let it read them (DCGM's profiling module, CAP_SYS_ADMIN)";

const dcgmAdvice = [
  [gpu.smActivity, profiling],
  [gpu.tensorActivity, profiling],
  [gpu.dramActivity, profiling],
  [gpu.energy, "add DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION to dcgm-exporter's counters file"],
  [
    gpu.throttleSeconds,
    "add DCGM_FI_DEV_POWER_VIOLATION and DCGM_FI_DEV_THERMAL_VIOLATION to dcgm-exporter's counters file",
  ],
  [
    gpu.eccErrors,
    "add DCGM_FI_DEV_ECC_SBE_VOL_TOTAL and DCGM_FI_DEV_ECC_DBE_VOL_TOTAL to dcgm-exporter's counters file",
  ],
] as const;

export const dcgm: ExporterTable = {
  name: "dcgm",
  exporter: dcgmCompat.exporter,
  metrics: invertTable(dcgmCompat),
  identify: identifyDcgm,
  advice: dcgmAdvice,
};

export const dcgmOld: ExporterTable = {
  name: "dcgm-old",
  exporter: `${dcgmCompat.exporter}, old names`,
  metrics: invertTable(dcgmOldCompat),
  identify: (labels) => identifyDcgm({ ...labels, UUID: labels["UUID"] ?? labels["uuid"] }),
  advice: dcgmAdvice,
};

export const nvidiaSmi: ExporterTable = {
  name: "nvidia-smi",
  exporter: nvidiaSmiCompat.exporter,
  metrics: invertTable(nvidiaSmiCompat),
  infoNames: ["nvidia_smi_gpu_info"],
  identify: (labels) => {
    const { uuid } = labels;
    if (uuid === undefined) return undefined;
    return {
      uuid: /^(gpu|mig)-/i.test(uuid) ? uuid : `GPU-${uuid}`,
      index: labels["index"],
      vendor: "nvidia",
      model: labels["name"],
      driver: labels["driver_version"],
      vbios: labels["vbios_version"],
      pciBusId: kernelBusId(labels["pci_bus_id"]),
      simulated: labels["simulated"] === "true",
    };
  },
};

const is = (
  metric: MetricEntry,
  labels: Readonly<Record<string, string>> = {},
  read?: ExporterMetric["read"],
): ExporterMetric => ({ metric, labels, read });

const mebibytesPerSecond = (value: number): number => value * 1_048_576;

export const nvitop: ExporterTable = {
  name: "nvitop",
  exporter: "nvitop-exporter",
  metrics: metricsOf([
    ["gpu_utilization_Percentage", is(gpu.utilization, {}, percent.read)],
    ["gpu_memory_utilization_Percentage", is(gpu.memoryControllerUtilization, {}, percent.read)],
    ["gpu_encoder_utilization_Percentage", is(gpu.encoderUtilization, {}, percent.read)],
    ["gpu_decoder_utilization_Percentage", is(gpu.decoderUtilization, {}, percent.read)],
    ["gpu_memory_total_MiB", is(gpu.memoryTotal, {}, mebibytes.read)],
    ["gpu_memory_used_MiB", is(gpu.memoryUsed, {}, mebibytes.read)],
    ["gpu_memory_free_MiB", is(gpu.memoryFree, {}, mebibytes.read)],
    ["gpu_clock_sm_MHz", is(gpu.clock, { domain: "sm" }, megahertz.read)],
    ["gpu_clock_memory_MHz", is(gpu.clock, { domain: "memory" }, megahertz.read)],
    ["gpu_clock_graphics_MHz", is(gpu.clock, { domain: "graphics" }, megahertz.read)],
    ["gpu_clock_video_MHz", is(gpu.clock, { domain: "video" }, megahertz.read)],
    ["gpu_power_usage_W", is(gpu.power)],
    ["gpu_power_limit_W", is(gpu.powerLimit)],
    ["gpu_temperature_C", is(gpu.temperature, { sensor: "edge" })],
    ["gpu_fan_speed_Percentage", is(gpu.fanSpeed, { fan: "1" }, percent.read)],
    [
      "gpu_pcie_tx_throughput_MiBps",
      is(gpu.pcieThroughput, { direction: "transmit" }, mebibytesPerSecond),
    ],
    [
      "gpu_pcie_rx_throughput_MiBps",
      is(gpu.pcieThroughput, { direction: "receive" }, mebibytesPerSecond),
    ],
  ]),
  identify: ({ uuid, index, devicename, hostname }) =>
    uuid === undefined || devicename === undefined
      ? undefined
      : { uuid, index, vendor: "nvidia", model: devicename, host: hostname },
};
