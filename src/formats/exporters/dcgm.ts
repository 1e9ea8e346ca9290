/** NVIDIA's dcgm-exporter, current and old names: the fields that `--compat` writes, and others that its counters file may list. */
import { gpu } from "../../model/catalogue/index.ts";
import { megahertz, nanoseconds, percent } from "../compat/convert.ts";
import { dcgm as dcgmCompat, dcgmOld as dcgmOldCompat } from "../compat/dcgm.ts";
import {
  type ExporterGpu,
  type ExporterLabels,
  type ExporterMetric,
  type ExporterTable,
  is,
  metricsOf,
  ownerFromPodLabels,
} from "./table.ts";
import { invertTable } from "./written.ts";

/** The kernel's spelling of `00000000:8A:00.0`: a four-digit domain, in lower case. */
export function kernelBusId(text: string | undefined): string | undefined {
  const parts = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(text ?? "");
  return parts === null
    ? undefined
    : `${parts[1]?.slice(-4).toLowerCase()}:${parts[2]?.toLowerCase()}`;
}

/** In dcgm-exporter, a MIG instance has its GPU's UUID and its own id; our `--compat dcgm` writes the UUID of the instance. */
function identifyDcgm(labels: ExporterLabels): ExporterGpu | undefined {
  const { UUID: uuid, GPU_I_ID: instance, GPU_I_PROFILE: profile } = labels;
  const place = kernelBusId(labels["pci_bus_id"]) ?? labels["gpu"];
  if (uuid === undefined && place === undefined) return undefined;
  const isInstance = instance !== undefined && instance !== "";
  const hasOwnUuid = uuid === undefined || uuid.startsWith("MIG-");
  const model = labels["modelName"];
  const job = labels["hpc_job"];
  const owner = ownerFromPodLabels(labels);
  return {
    uuid: isInstance && !hasOwnUuid ? `${uuid}/${instance}` : uuid,
    parent: isInstance && !hasOwnUuid ? uuid : undefined,
    place: isInstance ? `${place}/${instance}` : place,
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
  [
    gpu.powerLimit,
    "add DCGM_FI_DEV_ENFORCED_POWER_LIMIT to dcgm-exporter's counters file: power alerts need the limit",
  ],
  [gpu.energy, "add DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION to dcgm-exporter's counters file"],
  [
    gpu.throttleSeconds,
    "add DCGM_FI_DEV_POWER_VIOLATION and DCGM_FI_DEV_THERMAL_VIOLATION to dcgm-exporter's counters file",
  ],
  [
    gpu.throttleActive,
    "add DCGM_FI_DEV_CLOCKS_EVENT_REASONS to dcgm-exporter's counters file: it says why clocks are low",
  ],
  [
    gpu.temperatureLimit,
    "add DCGM_FI_DEV_SLOWDOWN_TEMP to dcgm-exporter's counters file: temperature alerts need the limit",
  ],
  [
    gpu.pcieLinkWidth,
    "add DCGM_FI_DEV_PCIE_LINK_GEN, DCGM_FI_DEV_PCIE_LINK_WIDTH, DCGM_FI_DEV_PCIE_MAX_LINK_GEN and DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH to dcgm-exporter's counters file",
  ],
  [
    gpu.eccErrors,
    "add DCGM_FI_DEV_ECC_SBE_VOL_TOTAL and DCGM_FI_DEV_ECC_DBE_VOL_TOTAL to dcgm-exporter's counters file",
  ],
] as const;

/** DCGM counts PCIe traffic in kB of 1,000 bytes, as NVML does. */
const kilobytes = (value: number): number => value * 1_000;

type NamedMetric = readonly [name: string, metric: ExporterMetric];

/** Fields that `--compat` does not write, and the number of the last XID error. */
const otherFields: readonly NamedMetric[] = [
  ["XID_ERRORS", { metric: gpu.xidErrors, isLastXid: true }],
  ["POWER_USAGE_INSTANT", is(gpu.powerInstant)],
  ["ENFORCED_POWER_LIMIT", is(gpu.powerLimit)],
  ["POWER_MGMT_LIMIT", is(gpu.powerLimit)],
  ["POWER_MGMT_LIMIT_MIN", is(gpu.powerLimitMin)],
  ["POWER_MGMT_LIMIT_MAX", is(gpu.powerLimitMax)],
  ["POWER_MGMT_LIMIT_DEF", is(gpu.powerLimitDefault)],
  ["SLOWDOWN_TEMP", is(gpu.temperatureLimit, { limit: "slowdown" })],
  ["SHUTDOWN_TEMP", is(gpu.temperatureLimit, { limit: "shutdown" })],
  ["MEM_MAX_OP_TEMP", is(gpu.temperatureLimit, { limit: "memory" })],
  ["GPU_TEMP_LIMIT", is(gpu.temperatureMargin)],
  ["FAN_SPEED", is(gpu.fanSpeed, { fan: "1" }, percent.read)],
  ["PSTATE", is(gpu.performanceState)],
  ["VIDEO_CLOCK", is(gpu.clock, { domain: "video" }, megahertz.read)],
  ["MAX_SM_CLOCK", is(gpu.clockMax, { domain: "sm" }, megahertz.read)],
  ["MAX_MEM_CLOCK", is(gpu.clockMax, { domain: "memory" }, megahertz.read)],
  ["MAX_VIDEO_CLOCK", is(gpu.clockMax, { domain: "video" }, megahertz.read)],
  ["FB_USED_PERCENT", is(gpu.memoryUsedRatio)],
  ["PCIE_LINK_GEN", is(gpu.pcieLinkGeneration)],
  ["PCIE_LINK_WIDTH", is(gpu.pcieLinkWidth)],
  ["PCIE_MAX_LINK_GEN", is(gpu.pcieLinkGenerationMax)],
  ["PCIE_MAX_LINK_WIDTH", is(gpu.pcieLinkWidthMax)],
  ["PCIE_TX_THROUGHPUT", is(gpu.pcieThroughput, { direction: "transmit" }, kilobytes)],
  ["PCIE_RX_THROUGHPUT", is(gpu.pcieThroughput, { direction: "receive" }, kilobytes)],
  ["CLOCK_THROTTLE_REASONS", is(gpu.clockEventReasons)],
  ["CLOCKS_EVENT_REASONS", is(gpu.clockEventReasons)],
  ["THERMAL_VIOLATION", is(gpu.throttleSeconds, { reason: "thermal" }, nanoseconds.read)],
  ["ROW_REMAP_PENDING", is(gpu.remappedRowsPending)],
];

const counted = (metric: typeof gpu.eccErrors, type: string): ExporterMetric =>
  is(metric, { type });

/** Names of 1.x that are not the lower-case name of the field. */
const otherOldNames: readonly NamedMetric[] = [
  ["dcgm_ecc_sbe_volatile_total", counted(gpu.eccErrors, "corrected")],
  ["dcgm_ecc_dbe_volatile_total", counted(gpu.eccErrors, "uncorrected")],
  ["dcgm_ecc_sbe_aggregate_total", counted(gpu.eccLifetimeErrors, "corrected")],
  ["dcgm_ecc_dbe_aggregate_total", counted(gpu.eccLifetimeErrors, "uncorrected")],
  ["dcgm_retired_pages_sbe", is(gpu.retiredPages, { cause: "corrected" })],
  ["dcgm_retired_pages_dbe", is(gpu.retiredPages, { cause: "uncorrected" })],
  ["dcgm_retired_pages_pending", is(gpu.retiredPagesPending)],
];

export const dcgm: ExporterTable = {
  name: "dcgm",
  exporter: dcgmCompat.exporter,
  metrics: new Map([
    ...metricsOf(otherFields.map(([field, metric]) => [`DCGM_FI_DEV_${field}`, metric])),
    ...invertTable(dcgmCompat),
  ]),
  identify: identifyDcgm,
  advice: dcgmAdvice,
};

/** Renames labels of 1.x to those of the current version. */
const readOldLabels = (labels: ExporterLabels): ExporterLabels => ({
  ...labels,
  UUID: labels["UUID"] ?? labels["uuid"],
  pod: labels["pod_name"] ?? labels["pod"],
  namespace: labels["pod_namespace"] ?? labels["namespace"],
  container: labels["container_name"] ?? labels["container"],
});

export const dcgmOld: ExporterTable = {
  name: "dcgm-old",
  exporter: `${dcgmCompat.exporter}, old names`,
  metrics: new Map([
    ...metricsOf(otherFields.map(([field, metric]) => [`dcgm_${field.toLowerCase()}`, metric])),
    ...metricsOf(otherOldNames),
    ...invertTable(dcgmOldCompat),
  ]),
  readLabels: readOldLabels,
  identify: identifyDcgm,
  advice: dcgmAdvice,
};
