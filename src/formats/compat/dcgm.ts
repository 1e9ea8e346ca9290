/** NVIDIA dcgm-exporter's names: its default counters, and those it ships commented out that we can give. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import {
  kibibytes,
  mebibytes,
  megahertz,
  migProfile,
  millijoules,
  nanoseconds,
  nvmlBusId,
  percent,
  simulatedLabel,
} from "./convert.ts";
import { type CompatRow, type CompatTable, type Fold, largest, type Match, sum } from "./row.ts";

/** The number of the error seen last, read off the label: that exporter's gauge holds a code, not a count. */
const newestXid: Fold = {
  says: "number of the newest",
  partial: true,
  of: (readings) => {
    const newest = readings.reduce((best, one) => (one.value > best.value ? one : best));
    return Number(labelValue(newest.labels, "xid") ?? 0);
  },
};

const corrected = { type: "corrected" };
const uncorrected = { type: "uncorrected" };

const linkErrors = (name: string, type: string, help: string): CompatRow => ({
  name: `DCGM_FI_DEV_NVLINK_${name}_ERROR_COUNT_TOTAL`,
  kind: "counter",
  unit: "count",
  help,
  from: gpu.interconnectErrors,
  match: { type },
  fold: sum,
});

/** A share of GPM, also of each MIG instance. */
const active = (name: string, help: string, from: MetricEntry, match?: Match): CompatRow => ({
  name: `DCGM_FI_PROF_${name}`,
  kind: "gauge",
  unit: "ratio",
  help,
  from,
  ...(match === undefined ? {} : { match }),
});

const rows: readonly CompatRow[] = [
  {
    name: "DCGM_FI_DEV_SM_CLOCK",
    kind: "gauge",
    unit: "MHz",
    help: "SM clock in MHz.",
    from: gpu.clock,
    match: { domain: "sm" },
    otherwise: [{ from: gpu.clock, match: { domain: "graphics" } }],
    convert: megahertz,
  },
  {
    name: "DCGM_FI_DEV_MEM_CLOCK",
    kind: "gauge",
    unit: "MHz",
    help: "Memory clock in MHz.",
    from: gpu.clock,
    match: { domain: "memory" },
    convert: megahertz,
  },
  {
    name: "DCGM_FI_DEV_MEMORY_TEMP",
    kind: "gauge",
    unit: "°C",
    help: "Memory temperature in °C.",
    from: gpu.temperature,
    match: { sensor: "memory" },
    note: "Absent on cards without the sensor, where theirs says 0 or a sentinel.",
  },
  {
    name: "DCGM_FI_DEV_GPU_TEMP",
    kind: "gauge",
    unit: "°C",
    help: "GPU temperature in °C.",
    from: gpu.temperature,
    match: { sensor: "edge" },
  },
  {
    name: "DCGM_FI_DEV_POWER_USAGE",
    kind: "gauge",
    unit: "W",
    help: "Board power in watts.",
    from: gpu.power,
  },
  {
    name: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    kind: "counter",
    unit: "mJ",
    help: "Energy since the driver was loaded in millijoules.",
    from: gpu.energy,
    convert: millijoules,
  },
  {
    name: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    kind: "counter",
    unit: "count",
    help: "PCIe packets sent again.",
    from: gpu.pcieReplays,
  },
  {
    name: "DCGM_FI_DEV_GPU_UTIL",
    kind: "gauge",
    unit: "%",
    help: "GPU utilisation in percent.",
    from: gpu.utilization,
    convert: percent,
  },
  {
    name: "DCGM_FI_DEV_MEM_COPY_UTIL",
    kind: "gauge",
    unit: "%",
    help: "Memory utilisation in percent.",
    from: gpu.memoryControllerUtilization,
    convert: percent,
  },
  {
    name: "DCGM_FI_DEV_ENC_UTIL",
    kind: "gauge",
    unit: "%",
    help: "Encoder utilisation in percent.",
    from: gpu.encoderUtilization,
    convert: percent,
  },
  {
    name: "DCGM_FI_DEV_DEC_UTIL",
    kind: "gauge",
    unit: "%",
    help: "Decoder utilisation in percent.",
    from: gpu.decoderUtilization,
    convert: percent,
  },
  {
    name: "DCGM_FI_DEV_XID_ERRORS",
    kind: "gauge",
    unit: "XID number",
    help: "Number of the last XID error, 0 where none was seen.",
    from: gpu.xidLast,
    fold: newestXid,
    whenNone: { value: 0, given: gpu.xidWatched },
    note: "A code that stays until the next error, and 0 for none, as there. Absent where the driver does not report XID errors to gpulse. It cannot show a second error of the same number: gpu_xid_errors_total can.",
  },
  {
    name: "DCGM_FI_DEV_FB_FREE",
    kind: "gauge",
    unit: "MiB",
    help: "Free device memory in MiB.",
    from: gpu.memoryFree,
    convert: mebibytes,
  },
  {
    name: "DCGM_FI_DEV_FB_USED",
    kind: "gauge",
    unit: "MiB",
    help: "Used device memory in MiB.",
    from: gpu.memoryUsed,
    convert: mebibytes,
  },
  {
    name: "DCGM_FI_DEV_FB_RESERVED",
    kind: "gauge",
    unit: "MiB",
    help: "Device memory the driver keeps in MiB.",
    from: gpu.memoryReserved,
    convert: mebibytes,
  },
  {
    name: "DCGM_FI_DEV_FB_TOTAL",
    kind: "gauge",
    unit: "MiB",
    help: "Device memory in all in MiB.",
    from: gpu.memoryTotal,
    convert: mebibytes,
  },
  {
    name: "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    kind: "counter",
    unit: "KiB",
    help: "Data moved over NVLink, all links and both directions, in KiB.",
    from: gpu.interconnectBytes,
    fold: sum,
    convert: kibibytes,
    note: "Their list names no unit; KiB is what NVML counts in.",
  },
  {
    name: "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    kind: "counter",
    unit: "count",
    help: "Memory rows replaced after uncorrectable errors.",
    from: gpu.remappedRows,
    match: { cause: "uncorrected" },
  },
  {
    name: "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    kind: "counter",
    unit: "count",
    help: "Memory rows replaced after correctable errors.",
    from: gpu.remappedRows,
    match: { cause: "corrected" },
  },
  {
    name: "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    kind: "gauge",
    unit: "0 or 1",
    help: "1 where a memory row could not be replaced.",
    from: gpu.rowRemapFailed,
  },
  {
    name: "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    kind: "gauge",
    unit: "ratio",
    help: "Share of time in which the graphics or compute engine was active.",
    from: gpu.graphicsActivity,
    otherwise: [{ from: gpu.utilization }],
    note: "From the utilisation counter on cards without GPM.",
  },
  active("SM_ACTIVE", "Share of the SMs that had work.", gpu.smActivity),
  active("SM_OCCUPANCY", "Resident warps over the most that fit.", gpu.smOccupancy),
  active(
    "PIPE_TENSOR_ACTIVE",
    "Share of cycles in which the tensor cores were active.",
    gpu.tensorActivity,
  ),
  active(
    "PIPE_TENSOR_DFMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in FP64.",
    gpu.tensorPipeActivity,
    { pipe: "fp64" },
  ),
  active(
    "PIPE_TENSOR_HMMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in FP16, BF16, TF32 or FP8.",
    gpu.tensorPipeActivity,
    { pipe: "half" },
  ),
  active(
    "PIPE_TENSOR_IMMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in INT8.",
    gpu.tensorPipeActivity,
    { pipe: "int8" },
  ),
  active(
    "DRAM_ACTIVE",
    "Share of cycles in which the memory interface moved data.",
    gpu.dramActivity,
  ),
  active(
    "PIPE_FP64_ACTIVE",
    "Share of cycles in which the FP64 units were active.",
    gpu.fp64Activity,
  ),
  active(
    "PIPE_FP32_ACTIVE",
    "Share of cycles in which the FP32 units were active.",
    gpu.fp32Activity,
  ),
  active(
    "PIPE_FP16_ACTIVE",
    "Share of cycles in which the FP16 units were active.",
    gpu.fp16Activity,
  ),
  active(
    "PIPE_INT_ACTIVE",
    "Share of cycles in which the integer units were active.",
    gpu.integerActivity,
  ),
  ...Array.from({ length: 8 }, (_, engine) => [
    active(
      `NVDEC${engine}_ACTIVE`,
      `Share of time in which video decoder ${engine} was active.`,
      gpu.decoderEngineActivity,
      { engine: String(engine) },
    ),
    active(
      `NVJPG${engine}_ACTIVE`,
      `Share of time in which JPEG decoder ${engine} was active.`,
      gpu.jpegEngineActivity,
      { engine: String(engine) },
    ),
  ]).flat(),
  ...[0, 1].map((engine) =>
    active(
      `NVOFA${engine}_ACTIVE`,
      `Share of time in which optical flow accelerator ${engine} was active.`,
      gpu.ofaEngineActivity,
      { engine: String(engine) },
    ),
  ),
  ...(
    [
      ["TX", "transmit", "from"],
      ["RX", "receive", "to"],
    ] as const
  ).flatMap(([theirs, direction, word]): CompatRow[] => [
    {
      name: `DCGM_FI_PROF_NVLINK_${theirs}_BYTES`,
      kind: "gauge",
      unit: "B/s",
      help: `NVLink traffic ${word} the GPU over all links in bytes per second.`,
      from: gpu.interconnectThroughput,
      match: { direction },
    },
    {
      name: `DCGM_FI_PROF_C2C_${theirs}_ALL_BYTES`,
      kind: "gauge",
      unit: "B/s",
      help: `NVLink-C2C traffic ${word} the GPU in bytes per second.`,
      from: gpu.c2cThroughput,
      match: { direction },
    },
  ]),
  {
    name: "DCGM_FI_PROF_PCIE_TX_BYTES",
    kind: "gauge",
    unit: "B/s",
    help: "PCIe traffic from the GPU in bytes per second.",
    from: gpu.pcieThroughput,
    match: { direction: "transmit" },
    note: "A rate, as in their present list; the one of 1.x called it a counter.",
  },
  {
    name: "DCGM_FI_PROF_PCIE_RX_BYTES",
    kind: "gauge",
    unit: "B/s",
    help: "PCIe traffic to the GPU in bytes per second.",
    from: gpu.pcieThroughput,
    match: { direction: "receive" },
    note: "A rate, as above.",
  },
  {
    name: "DCGM_FI_DEV_POWER_VIOLATION",
    kind: "counter",
    unit: "ns",
    help: "Time the clocks were held down by the power limit in nanoseconds.",
    from: gpu.throttleSeconds,
    match: { reason: "power_cap" },
    convert: nanoseconds,
  },
  {
    name: "DCGM_FI_DEV_THERMAL_VIOLATION",
    kind: "counter",
    unit: "ns",
    help: "Time the clocks were held down by heat in nanoseconds.",
    from: gpu.throttleSeconds,
    match: { reason: ["thermal", "thermal_hardware"] },
    fold: largest,
    convert: nanoseconds,
    note: "The larger of the driver's and the hardware's own counter: the two overlap, so their sum would count time twice.",
  },
  {
    name: "DCGM_FI_DEV_SYNC_BOOST_VIOLATION",
    kind: "counter",
    unit: "ns",
    help: "Time the clocks were held down by a sync-boost group in nanoseconds.",
    from: gpu.throttleSeconds,
    match: { reason: "sync_boost" },
    convert: nanoseconds,
  },
  {
    name: "DCGM_FI_DEV_RELIABILITY_VIOLATION",
    kind: "counter",
    unit: "ns",
    help: "Time the clocks were held down by reliability limits in nanoseconds.",
    from: gpu.throttleSeconds,
    match: { reason: "reliability" },
    convert: nanoseconds,
  },
  {
    name: "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
    kind: "counter",
    unit: "count",
    help: "Corrected memory errors since boot.",
    from: gpu.eccErrors,
    match: corrected,
  },
  {
    name: "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    kind: "counter",
    unit: "count",
    help: "Uncorrected memory errors since boot.",
    from: gpu.eccErrors,
    match: uncorrected,
  },
  {
    name: "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
    kind: "counter",
    unit: "count",
    help: "Corrected memory errors over the board's life.",
    from: gpu.eccLifetimeErrors,
    match: corrected,
  },
  {
    name: "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
    kind: "counter",
    unit: "count",
    help: "Uncorrected memory errors over the board's life.",
    from: gpu.eccLifetimeErrors,
    match: uncorrected,
  },
  {
    name: "DCGM_FI_DEV_RETIRED_SBE",
    kind: "counter",
    unit: "count",
    help: "Memory pages retired after corrected errors.",
    from: gpu.retiredPages,
    match: { cause: "corrected" },
  },
  {
    name: "DCGM_FI_DEV_RETIRED_DBE",
    kind: "counter",
    unit: "count",
    help: "Memory pages retired after uncorrected errors.",
    from: gpu.retiredPages,
    match: { cause: "uncorrected" },
  },
  {
    name: "DCGM_FI_DEV_RETIRED_PENDING",
    kind: "counter",
    unit: "0 or 1",
    help: "1 where memory pages will be retired at the next reset.",
    from: gpu.retiredPagesPending,
    note: "Whether, not how many: the driver reports no more.",
  },
  linkErrors("CRC_FLIT", "crc_flit", "NVLink flow-control CRC errors, all links."),
  linkErrors("CRC_DATA", "crc_data", "NVLink data CRC errors, all links."),
  linkErrors("REPLAY", "replay", "NVLink replays, all links."),
  linkErrors("RECOVERY", "recovery", "NVLink recoveries, all links."),
];

export const dcgm: CompatTable = {
  name: "dcgm",
  exporter: "NVIDIA dcgm-exporter",
  vendor: "nvidia",
  labels: ({ device, host, owner }) => ({
    gpu: String(device.index),
    UUID: device.uuid,
    pci_bus_id: nvmlBusId(device),
    device: `nvidia${device.index}`,
    modelName: device.model,
    GPU_I_PROFILE: migProfile(device),
    GPU_I_ID: device.mig?.gpuInstance,
    // Renamed in May 2026; dashboards of either age filter on theirs.
    Hostname: host,
    hostname: host,
    DCGM_FI_DRIVER_VERSION: device.driver,
    container: owner.container,
    namespace: owner.namespace,
    pod: owner.pod,
    hpc_job: owner.workload,
    simulated: simulatedLabel(device),
  }),
  hostLabels: ({ device, host }) => ({ Hostname: host, simulated: simulatedLabel(device) }),
  rows,
  leftOut: [
    [
      "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION, DCGM_FI_DEV_LOW_UTIL_VIOLATION",
      "Our reasons for low clocks have none of the kind.",
    ],
    [
      "DCGM_FI_PROF_NVLINK_L0_TX_BYTES …",
      "gpu_interconnect_link_throughput_bytes_per_second has each link.",
    ],
    [
      "DCGM_EXP_*",
      "Computed by their exporter over a window of its own. gpu_xid_errors_total and gpu_throttle_seconds_total carry the same with any window, by increase().",
    ],
    ["DCGM_FI_DEV_NVLINK_BANDWIDTH_L0 …", "gpu_interconnect_bytes_total has each link."],
    ["DCGM_FI_DEV_VGPU_LICENSE_STATUS", "We read no licences."],
    [
      "DCGM_FI_* label counters beside the driver's version",
      "gpu_info has what we read. A MIG instance has GPU_I_ID and GPU_I_PROFILE as there, and its own UUID where theirs has the UUID of its GPU.",
    ],
  ],
};

/* The names dcgm-exporter 1.x had, and 2.x and later give with --use-old-namespace: the same rows, renamed. */

const oldNames: Readonly<Record<string, string>> = {
  DCGM_FI_DEV_SM_CLOCK: "dcgm_sm_clock",
  DCGM_FI_DEV_MEM_CLOCK: "dcgm_memory_clock",
  DCGM_FI_DEV_MEMORY_TEMP: "dcgm_memory_temp",
  DCGM_FI_DEV_GPU_TEMP: "dcgm_gpu_temp",
  DCGM_FI_DEV_POWER_USAGE: "dcgm_power_usage",
  DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: "dcgm_total_energy_consumption",
  DCGM_FI_DEV_PCIE_REPLAY_COUNTER: "dcgm_pcie_replay_counter",
  DCGM_FI_DEV_GPU_UTIL: "dcgm_gpu_utilization",
  DCGM_FI_DEV_MEM_COPY_UTIL: "dcgm_mem_copy_utilization",
  DCGM_FI_DEV_ENC_UTIL: "dcgm_enc_utilization",
  DCGM_FI_DEV_DEC_UTIL: "dcgm_dec_utilization",
  DCGM_FI_DEV_XID_ERRORS: "dcgm_xid_errors",
  DCGM_FI_DEV_FB_FREE: "dcgm_fb_free",
  DCGM_FI_DEV_FB_USED: "dcgm_fb_used",
  DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL: "dcgm_nvlink_bandwidth_total",
};

function oldName(name: string): string | undefined {
  return oldNames[name] ?? (name.startsWith("DCGM_FI_PROF_") ? name.toLowerCase() : undefined);
}

export const dcgmOld: CompatTable = {
  name: "dcgm-old",
  exporter: "dcgm-exporter 1.x",
  vendor: "nvidia",
  labels: ({ device, host, owner }) => ({
    gpu: String(device.index),
    uuid: device.uuid,
    device: `nvidia${device.index}`,
    modelName: device.model,
    GPU_I_PROFILE: migProfile(device),
    GPU_I_ID: device.mig?.gpuInstance,
    Hostname: host,
    container_name: owner.container,
    pod_namespace: owner.namespace,
    pod_name: owner.pod,
    simulated: simulatedLabel(device),
  }),
  hostLabels: ({ device, host }) => ({ Hostname: host, simulated: simulatedLabel(device) }),
  rows: dcgm.rows.flatMap((row) => {
    const name = oldName(row.name);
    return name === undefined ? [] : [{ ...row, name }];
  }),
  leftOut: [],
};
