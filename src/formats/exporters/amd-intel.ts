/** Exporters of AMD and Intel GPUs: AMD's device-metrics-exporter and older amd_smi_exporter, Intel's XPU Manager. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { amd as amdCompat } from "../compat/amd.ts";
import { megahertz, percent } from "../compat/convert.ts";
import {
  type ExporterLabels,
  type ExporterMetric,
  type ExporterTable,
  is,
  metricsOf,
  ownerFromPodLabels,
} from "./table.ts";
import { invertTable } from "./written.ts";

/** Some installations prefix every name with `amd_`; the first versions wrote names and labels in capitals. */
const withVariants = (
  metrics: ReadonlyMap<string, readonly ExporterMetric[]>,
): ReadonlyMap<string, readonly ExporterMetric[]> =>
  new Map(
    [...metrics].flatMap(([name, read]) =>
      [name, `amd_${name}`, name.toUpperCase()].map((variant) => [variant, read] as const),
    ),
  );

/** `GPU_CLOCK_TYPE_SYSTEM` was the first name of `system`. */
function readAmdLabels(labels: ExporterLabels): ExporterLabels {
  const lower = Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const clockType = lower["clock_type"]?.toLowerCase().replace("gpu_clock_type_", "");
  return { ...lower, clock_type: clockType };
}

/** Sums over the blocks of the chip; our metric has one series per block. */
const eccTotals = metricsOf(
  (["correct", "uncorrect", "deferred"] as const).map((word) => [
    `gpu_ecc_${word}_total`,
    is(gpu.eccErrors, { type: word === "deferred" ? word : `${word}ed` }),
  ]),
);

export const amdDevice: ExporterTable = {
  name: "amd",
  exporter: amdCompat.exporter,
  metrics: withVariants(new Map([...invertTable(amdCompat), ...eccTotals])),
  // This series exists for a sleeping card too, which has no other series.
  infoNames: [...withVariants(new Map([["gpu_health", []]])).keys()],
  readLabels: readAmdLabels,
  identify: (labels) => {
    const { gpu_id: index, gpu_uuid: uuid, serial_number: serial } = labels;
    const isTheirs = ["hostname", "gpu_uuid", "serial_number", "card_model", "card_series"].some(
      (name) => labels[name] !== undefined,
    );
    if (index === undefined || !isTheirs) return undefined;
    const owner = ownerFromPodLabels(labels);
    const { job_id: workload, job_user: user } = labels;
    return {
      uuid: uuid ?? (serial === undefined || serial === "" ? undefined : `amd-${serial}`),
      place: index,
      index,
      vendor: "amd",
      model: labels["card_series"] ?? labels["card_model"],
      driver: labels["driver_version"],
      vbios: labels["vbios_version"],
      host: labels["hostname"],
      owner: workload === undefined && user === undefined ? owner : { ...owner, workload, user },
      simulated: labels["simulated"] === "true",
    };
  },
};

/** The values are those of the library: millidegrees, microwatts, hertz. The GPU's number is in a label named like the metric. */
const smiNames: readonly (readonly [
  name: string,
  metric: MetricEntry,
  labels: Readonly<Record<string, string>>,
  read: ((value: number) => number | undefined) | undefined,
])[] = [
  ["gpu_current_temperature", gpu.temperature, { sensor: "edge" }, (value) => value / 1e3],
  ["gpu_power", gpu.power, {}, (value) => value / 1e6],
  ["gpu_power_cap", gpu.powerLimit, {}, (value) => value / 1e6],
  ["gpu_SCLK", gpu.clock, { domain: "graphics" }, undefined],
  ["gpu_MCLK", gpu.clock, { domain: "memory" }, undefined],
  ["gpu_use_percent", gpu.utilization, {}, percent.read],
  ["gpu_memory_use_percent", gpu.memoryControllerUtilization, {}, percent.read],
];

export const amdSmi: ExporterTable = {
  name: "amd-smi",
  exporter: "AMD amd_smi_exporter",
  metrics: metricsOf(
    smiNames.map(([name, metric, labels, read]) => [`amd_${name}`, is(metric, labels, read)]),
  ),
  identify: (labels) => {
    const index = smiNames.map(([name]) => labels[name]).find((value) => value !== undefined);
    if (index === undefined || labels["productname"] === undefined) return undefined;
    return {
      place: index,
      index,
      vendor: "amd",
      model: labels["productname"],
      owner: ownerFromPodLabels(labels),
    };
  },
};

const tile = { sub_dev: "" };

/** Series with `sub_dev` describe a tile; only those of the whole GPU are read. */
export const xpum: ExporterTable = {
  name: "xpum",
  exporter: "Intel XPU Manager",
  metrics: metricsOf([
    ["xpum_engine_ratio", { metric: gpu.utilization, when: tile }],
    ["xpum_power_watts", { metric: gpu.power, when: { ...tile, card: "" } }],
    ["xpum_energy_joules", { metric: gpu.energy, when: tile }],
    ["xpum_energy_joules_total", { metric: gpu.energy, when: tile }],
    [
      "xpum_temperature_celsius",
      {
        metric: gpu.temperature,
        when: { ...tile, location: "gpu" },
        labels: { sensor: "edge" },
      },
    ],
    [
      "xpum_temperature_celsius",
      {
        metric: gpu.temperature,
        when: { ...tile, location: "mem" },
        labels: { sensor: "memory" },
      },
    ],
    [
      "xpum_frequency_mhz",
      {
        metric: gpu.clock,
        when: { ...tile, location: "gpu", type: "actual" },
        labels: { domain: "graphics" },
        read: megahertz.read,
      },
    ],
    ["xpum_memory_used_bytes", { metric: gpu.memoryUsed, when: tile }],
    ["xpum_memory_ratio", { metric: gpu.memoryUsedRatio, when: tile }],
    ["xpum_memory_bandwidth_ratio", { metric: gpu.memoryControllerUtilization, when: tile }],
  ]),
  identify: (labels) => {
    const { uuid, pci_bdf: pciBusId, dev_name: model } = labels;
    if (uuid === undefined && pciBusId === undefined) return undefined;
    return {
      uuid,
      place: pciBusId,
      index: /\d+$/.exec(labels["dev_file"] ?? "")?.[0],
      vendor: "intel",
      model,
      pciBusId,
      host: labels["node"],
      owner: ownerFromPodLabels({
        namespace: labels["kube_namespace"],
        pod: labels["kube_pod"],
        container: labels["kube_container"],
      }),
    };
  },
};

const device = { hw_memory_location: ["device", ""] };

/** XPU Manager 2 uses names similar to OpenTelemetry's, with the PCI address on every series. */
export const xpumd: ExporterTable = {
  name: "xpumd",
  exporter: "Intel XPU Manager 2",
  metrics: metricsOf([
    ["hw_gpu_utilization_ratio", { metric: gpu.utilization, when: { hw_gpu_task: ["all", ""] } }],
    ["hw_memory_size_bytes", { metric: gpu.memoryTotal, when: device }],
    ["hw_memory_usage_bytes", { metric: gpu.memoryUsed, when: device }],
    ["hw_memory_bandwidth_utilization_ratio", is(gpu.memoryControllerUtilization)],
    ["hw_power_watts", { metric: gpu.power, when: { hw_sensor_location: ["card", ""] } }],
    ["hw_energy_joules_total", { metric: gpu.energy, when: { hw_sensor_location: ["card", ""] } }],
    [
      "hw_frequency_hertz",
      {
        metric: gpu.clock,
        when: { hw_frequency_domain: "gpu", aggregation: ["avg", ""] },
        labels: { domain: "graphics" },
      },
    ],
    ...["gpu", "memory"].map((location): readonly [string, ExporterMetric] => [
      "hw_temperature_celsius",
      {
        metric: gpu.temperature,
        when: { hw_sensor_location: location },
        labels: { sensor: location === "gpu" ? "edge" : "memory" },
      },
    ]),
  ]),
  infoNames: ["hw_gpu_info"],
  identify: (labels) => {
    const { hw_id: uuid, pci_bdf: pciBusId } = labels;
    if (pciBusId === undefined) return undefined;
    return {
      uuid,
      place: pciBusId,
      vendor: "intel",
      model: labels["hw_model"],
      pciBusId,
      host: labels["node"] ?? labels["host_name"],
      owner: ownerFromPodLabels(labels),
    };
  },
};
