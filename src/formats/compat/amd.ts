/**
 * The metric names of AMD's device-metrics-exporter, in lower case as on its page. There, all of them are gauges, including
 * counters.
 */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import {
  gigatransfersPerSecond,
  kibibytes,
  mebibytes,
  megabitsPerSecond,
  megahertz,
  microjoules,
  millivolts,
  percent,
  simulatedLabel,
} from "./convert.ts";
import { type CompatRow, type CompatTable, type RowContext, sum } from "./row.ts";

type AmdRowOptions = Omit<CompatRow, "name" | "kind" | "unit" | "help" | "from">;

const gauge = (
  name: string,
  unit: string,
  help: string,
  from: MetricEntry,
  draft: AmdRowOptions = {},
): CompatRow => ({ name, kind: "gauge", unit, help, from, ...draft });

/** AMD exposes the clocks as one array per GPU; on an MI300X the first eight indexes are compute dies, then memory, then video. */
const clockPlaces = [
  ["graphics", "system", "0"],
  ["memory", "memory", "8"],
  ["video", "video", "9"],
  ["video_2", "video", "10"],
  ["soc", "soc", "17"],
] as const;

const clocks = (name: string, help: string, from: MetricEntry): CompatRow[] =>
  clockPlaces.map(([domain, clockType, clockIndex]) =>
    gauge(name, "MHz", help, from, {
      match: { domain },
      convert: megahertz,
      labels: () => ({ clock_type: clockType, clock_index: clockIndex }),
    }),
  );

const less = (from: MetricEntry) => ({
  from,
  says: `less ${from.name}`,
  apply: (value: number, second: number | undefined) =>
    second === undefined ? undefined : value - second,
});

const blocks =
  "athub bif df fuse gfx hdp ih jpeg mca mmhub mp0 mp1 mpio sdma sem smn umc vcn xgmi_wafl".split(
    " ",
  );

const errors = (prefix: string, type: string): CompatRow[] => [
  gauge(`${prefix}_total`, "count", `ECC errors ${type}, all blocks.`, gpu.blockErrors, {
    match: { type },
    fold: sum,
    otherwise: [{ from: gpu.eccErrors, match: { type } }],
  }),
  ...blocks.map((block) =>
    gauge(`${prefix}_${block}`, "count", `ECC errors ${type} in ${block}.`, gpu.blockErrors, {
      match: { type, block },
    }),
  ),
];

const chipPower = { from: gpu.chipPower };
const onePower =
  "The reading the card has: current, average, or the chip's alone. As there, an MI3xx has gpu_package_power and any other card gpu_average_package_power: AMD's dashboards add the two up.";

/** MI3xx boards report their current power, all others an average. */
const reportsCurrentPower = ({ device }: RowContext): boolean => /\bMI3\d\d/.test(device.model);

const linkEvents = [
  ["pcie_recovery_count", "recovery", "Times the PCIe link was retrained."],
  ["pcie_replay_rollover_count", "replay_rollover", "Roll-overs of the PCIe replay number."],
  ["pcie_nack_sent_count", "nak_sent", "PCIe NAKs sent."],
  ["pcie_nack_received_count", "nak_received", "PCIe NAKs received."],
] as const;

const rows: readonly CompatRow[] = [
  gauge("gpu_nodes_total", "count", "GPUs on this machine.", gpu.info, {
    fold: sum,
    perHost: true,
  }),
  gauge("gpu_health", "0 or 1", "1 while the GPU answers and has no uncorrected error.", gpu.up, {
    second: {
      from: gpu.eccErrors,
      match: { type: "uncorrected" },
      says: "0 where uncorrected errors were counted",
      apply: (up, uncorrectedErrors) => ((uncorrectedErrors ?? 0) > 0 ? 0 : up),
    },
    note: "Their thresholds can be set; ours is the default, any uncorrected error.",
  }),
  gauge("gpu_package_power", "W", "Current socket power in watts, MI3xx.", gpu.powerInstant, {
    otherwise: [{ from: gpu.power }, chipPower],
    convert: {
      write: (watts, about) => (reportsCurrentPower(about) ? watts : undefined),
      read: (watts) => watts,
    },
    note: onePower,
  }),
  gauge("gpu_average_package_power", "W", "Average socket power in watts.", gpu.power, {
    otherwise: [chipPower],
    convert: {
      write: (watts, about) => (reportsCurrentPower(about) ? undefined : watts),
      read: (watts) => watts,
    },
    note: onePower,
  }),
  gauge("gpu_power_usage", "W", "Power in watts.", gpu.power, {
    otherwise: [{ from: gpu.powerInstant }, chipPower],
    note: "The reading the card has: current, average, or the chip's alone.",
  }),
  gauge("gpu_energy_consumed", "µJ", "Energy used in microjoules.", gpu.energy, {
    convert: microjoules,
  }),
  gauge("gpu_edge_temperature", "°C", "Edge temperature in °C.", gpu.temperature, {
    match: { sensor: "edge" },
  }),
  gauge("gpu_junction_temperature", "°C", "Hotspot temperature in °C.", gpu.temperature, {
    match: { sensor: "hotspot" },
  }),
  gauge("gpu_memory_temperature", "°C", "Memory temperature in °C.", gpu.temperature, {
    match: { sensor: "memory" },
  }),
  gauge("gpu_gfx_activity", "%", "Graphics engine use in percent.", gpu.utilization, {
    convert: percent,
  }),
  gauge("gpu_gfx_busy_instantaneous", "%", "Graphics engine use in percent.", gpu.utilization, {
    convert: percent,
    labels: () => ({ xcc_index: "0" }),
    note: "One value for the whole GPU, the same as gpu_gfx_activity; there one for each compute die.",
  }),
  gauge("gpu_umc_activity", "%", "Memory use in percent.", gpu.memoryControllerUtilization, {
    convert: percent,
  }),
  ...clocks("gpu_clock", "Clock in MHz.", gpu.clock),
  ...clocks("gpu_max_clock", "Highest clock in MHz.", gpu.clockMax),
  gauge("gpu_total_vram", "MB", "Device memory in MB of 1,048,576 bytes.", gpu.memoryTotal, {
    convert: mebibytes,
  }),
  gauge("gpu_used_vram", "MB", "Used device memory in MB.", gpu.memoryUsed, {
    convert: mebibytes,
  }),
  gauge("gpu_free_vram", "MB", "Free device memory in MB.", gpu.memoryFree, {
    convert: mebibytes,
  }),
  gauge(
    "gpu_total_visible_vram",
    "MB",
    "Device memory the processor reaches in MB.",
    gpu.visibleMemoryTotal,
    { convert: mebibytes },
  ),
  gauge(
    "gpu_used_visible_vram",
    "MB",
    "Used part of the memory the processor reaches in MB.",
    gpu.visibleMemoryUsed,
    { convert: mebibytes },
  ),
  gauge(
    "gpu_free_visible_vram",
    "MB",
    "Free part of the memory the processor reaches in MB.",
    gpu.visibleMemoryTotal,
    { second: less(gpu.visibleMemoryUsed), convert: mebibytes },
  ),
  gauge("gpu_total_gtt", "MB", "System memory the GPU may map in MB.", gpu.sharedMemoryTotal, {
    convert: mebibytes,
  }),
  gauge("gpu_used_gtt", "MB", "System memory the GPU maps in MB.", gpu.sharedMemoryUsed, {
    convert: mebibytes,
  }),
  gauge("gpu_free_gtt", "MB", "System memory the GPU may still map.", gpu.sharedMemoryTotal, {
    second: less(gpu.sharedMemoryUsed),
    convert: mebibytes,
  }),
  gauge("gpu_gfx_voltage", "mV", "Graphics voltage in millivolts.", gpu.voltage, {
    match: { rail: "gfx" },
    convert: millivolts,
  }),
  gauge("gpu_voltage", "mV", "SoC voltage in millivolts.", gpu.voltage, {
    match: { rail: "soc" },
    convert: millivolts,
  }),
  gauge("gpu_memory_voltage", "mV", "Memory voltage in millivolts.", gpu.voltage, {
    match: { rail: "memory" },
    convert: millivolts,
  }),
  gauge("pcie_speed", "GT/s", "PCIe speed in use in GT/s.", gpu.pcieLinkGeneration, {
    convert: gigatransfersPerSecond,
  }),
  gauge("pcie_max_speed", "GT/s", "Highest PCIe speed in GT/s.", gpu.pcieLinkGenerationMax, {
    convert: gigatransfersPerSecond,
  }),
  gauge("pcie_bandwidth", "Mb/s", "PCIe traffic in megabits per second.", gpu.pcieThroughput, {
    fold: sum,
    convert: megabitsPerSecond,
  }),
  gauge("pcie_replay_count", "count", "PCIe packets sent again.", gpu.pcieReplays),
  ...linkEvents.map(([name, event, help]) =>
    gauge(name, "count", help, gpu.pcieLinkEvents, { match: { event } }),
  ),
  gauge("gpu_xgmi_link_rx", "KB", "Data read over an XGMI link in KB.", gpu.interconnectBytes, {
    match: { direction: "receive" },
    copy: { link_index: "link" },
    convert: kibibytes,
  }),
  gauge("gpu_xgmi_link_tx", "KB", "Data written over an XGMI link.", gpu.interconnectBytes, {
    match: { direction: "transmit" },
    copy: { link_index: "link" },
    convert: kibibytes,
  }),
  ...errors("gpu_ecc_correct", "corrected"),
  ...errors("gpu_ecc_uncorrect", "uncorrected"),
  ...errors("gpu_ecc_deferred", "deferred"),
];

export const amd: CompatTable = {
  name: "amd",
  exporter: "AMD device-metrics-exporter",
  vendor: "amd",
  labels: ({ device, host, owner, labelOf }) => ({
    gpu_id: String(device.index),
    gpu_uuid: device.uuid,
    card_vendor: "Advanced Micro Devices, Inc. [AMD/ATI]",
    card_series: device.model,
    card_model: device.partNumber,
    driver_version: device.driver,
    vbios_version: device.vbios,
    hostname: host,
    gpu_partition_id: "0",
    gpu_compute_partition_type: labelOf(gpu.partitionInfo, "compute")?.toLowerCase(),
    gpu_memory_partition_type: labelOf(gpu.partitionInfo, "memory")?.toLowerCase(),
    pod: owner.pod,
    namespace: owner.namespace,
    container: owner.container,
    job_id: owner.workload,
    job_user: owner.user,
    simulated: simulatedLabel(device),
  }),
  hostLabels: ({ device, host }) => ({ hostname: host, simulated: simulatedLabel(device) }),
  rows,
  leftOut: [
    [
      "gpu_vcn_*, gpu_jpeg_*, gpu_mma_activity, gpu_process_cu_occupancy, gpu_vram_max_bandwidth, gpu_min_clock",
      "Not in our catalogue; several are deprecated there.",
    ],
    [
      "gpu_hbm_temperature, gpu_afid_errors",
      "Not in our catalogue; errors are counted by block and kind.",
    ],
    [
      "gpu_violation_*",
      "Their accumulators have no published unit; gpu_throttle_seconds_total and gpu_throttle_active say which limit held the clocks and for how long.",
    ],
    [
      "pcie_bidirectional_bandwidth, pcie_rx, pcie_tx",
      "Ambiguous unit, or announced but not there.",
    ],
    [
      "gpu_xgmi_nbr_*, gpu_prof_*, ifoe_*",
      "Profiler and fabric counters that need ROCm libraries; we read the kernel.",
    ],
    [
      "Labels serial_number, deployment_mode, job_partition",
      "Empty, which Prometheus treats as not there: we do not put serial numbers on series.",
    ],
  ],
};
