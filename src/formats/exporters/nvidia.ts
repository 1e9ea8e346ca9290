/** Exporters of NVIDIA GPUs besides dcgm-exporter: nvidia_gpu_exporter, nvitop-exporter. */
import { gpu } from "../../model/catalogue/index.ts";
import { mebibytes, megahertz, percent } from "../compat/convert.ts";
import { nvidiaSmi as nvidiaSmiCompat } from "../compat/nvidia-smi.ts";
import { kernelBusId } from "./dcgm.ts";
import { type ExporterTable, is, metricsOf } from "./table.ts";
import { invertTable } from "./written.ts";

/** The exporter writes the UUID in lower case and without `GPU-`. */
function withPrefix(uuid: string): string {
  const parts = /^(gpu|mig|sim)-(.*)$/i.exec(uuid);
  return parts === null ? `GPU-${uuid}` : `${parts[1]?.toUpperCase()}-${parts[2]}`;
}

export const nvidiaSmi: ExporterTable = {
  name: "nvidia-smi",
  exporter: nvidiaSmiCompat.exporter,
  metrics: invertTable(nvidiaSmiCompat),
  infoNames: ["nvidia_smi_gpu_info"],
  buildInfo: "nvidia_gpu_exporter_build_info",
  identify: (labels) => {
    const { uuid } = labels;
    if (uuid === undefined) return undefined;
    return {
      uuid: withPrefix(uuid),
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
