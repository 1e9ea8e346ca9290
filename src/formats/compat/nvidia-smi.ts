/** nvidia_gpu_exporter's names: nvidia-smi's query fields in snake case and base units, all gauges, with only a uuid label. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { migProfile, nvmlBusId, simulatedLabel } from "./convert.ts";
import { type CompatRow, type CompatTable, largest } from "./row.ts";

type SmiRowOptions = Partial<Omit<CompatRow, "name" | "unit" | "help" | "from">>;

/** One query field; the help text is the field's name, as in that exporter. */
const field = (
  query: string,
  name: string,
  unit: string,
  from: MetricEntry,
  draft: SmiRowOptions = {},
): CompatRow => ({
  name: `nvidia_smi_${name}`,
  kind: "gauge",
  unit,
  help: `nvidia-smi ${query}.`,
  from,
  ...draft,
});

const clock = (which: "current" | "max", domain: string, from: MetricEntry): CompatRow =>
  field(`clocks.${which}.${domain}`, `clocks_${which}_${domain}_clock_hz`, "Hz", from, {
    match: { domain },
    // NVIDIA drives both from one clock, and some cards report only one of the two.
    ...(domain === "sm" ? { otherwise: [{ from, match: { domain: "graphics" } }] } : {}),
  });

/** nvidia-smi's throttle reasons, with the corresponding reasons here. */
const reasons = [
  ["applications_clocks_setting", ["clock_setting"]],
  ["sw_power_cap", ["power_cap"]],
  ["hw_slowdown", ["thermal_hardware", "power_brake"]],
  ["hw_thermal_slowdown", ["thermal_hardware"]],
  ["hw_power_brake_slowdown", ["power_brake"]],
  ["sw_thermal_slowdown", ["thermal"]],
  ["sync_boost", ["sync_boost"]],
] as const;

/** The driver's idle bit: nothing runs, and the clocks are falling. */
const idle: SmiRowOptions = { convert: { write: (mask) => mask & 1 } };

/** Driver 535 renamed the fields; dashboards query either name. */
const activeReasons = ["event", "throttle"].flatMap((word) => [
  field(
    `clocks_${word}_reasons.active`,
    `clocks_${word}_reasons_active`,
    "bitmask",
    gpu.clockEventReasons,
  ),
  field(
    `clocks_${word}_reasons.gpu_idle`,
    `clocks_${word}_reasons_gpu_idle`,
    "0 or 1",
    gpu.clockEventReasons,
    idle,
  ),
  ...reasons.map(([name, reason]) =>
    field(
      `clocks_${word}_reasons.${name}`,
      `clocks_${word}_reasons_${name}`,
      "0 or 1",
      gpu.throttleActive,
      { match: { reason }, fold: largest },
    ),
  ),
]);

const reasonCounters = reasons
  .filter(([name]) => name !== "hw_slowdown" && name !== "applications_clocks_setting")
  .map(([name, reason]) =>
    field(
      `clocks_event_reasons_counters.${name}`,
      `clocks_event_reasons_counters_${name}_seconds`,
      "s",
      gpu.throttleSeconds,
      { match: { reason } },
    ),
  );

const eccErrors = ["corrected", "uncorrected"].flatMap((type) => [
  field(
    `ecc.errors.${type}.volatile.total`,
    `ecc_errors_${type}_volatile_total`,
    "count",
    gpu.eccErrors,
    { match: { type } },
  ),
  field(
    `ecc.errors.${type}.aggregate.total`,
    `ecc_errors_${type}_aggregate_total`,
    "count",
    gpu.eccLifetimeErrors,
    { match: { type } },
  ),
]);

/** A driver version such as 590.48 is a number in that exporter; 590.48.01 is not, and has no series. */
function driverNumber(driver: string | undefined): number | undefined {
  return driver !== undefined && /^\d+(\.\d+)?$/.test(driver) ? Number(driver) : undefined;
}

const computeKinds = ["compute", "both"];
const oneLimit = "The limit in force is used for both the requested and the enforced limit.";

const rows: readonly CompatRow[] = [
  field("identity", "gpu_info", "1", gpu.info, {
    labels: ({ device }) => ({
      name: device.model,
      index: String(device.index),
      driver_version: device.driver,
      vbios_version: device.vbios,
      pci_bus_id: nvmlBusId(device),
    }),
    note: "Without serial, compute_cap, cuda_version, pci_sub_device_id and driver_model_*, which we do not read.",
  }),
  field("index", "index", "number", gpu.info, {
    convert: { write: (_, { device }) => device.index },
  }),
  field("count", "count", "count", gpu.info, { convert: { write: (_, { gpus }) => gpus } }),
  field("driver_version", "driver_version", "number", gpu.info, {
    convert: { write: (_, { device }) => driverNumber(device.driver) },
    note: "Only where the version is one number, as there.",
  }),
  field("utilization.gpu", "utilization_gpu_ratio", "ratio", gpu.utilization),
  field("utilization.memory", "utilization_memory_ratio", "ratio", gpu.memoryControllerUtilization),
  field("utilization.encoder", "utilization_encoder_ratio", "ratio", gpu.encoderUtilization),
  field("utilization.decoder", "utilization_decoder_ratio", "ratio", gpu.decoderUtilization),
  field("utilization.jpeg", "utilization_jpeg_ratio", "ratio", gpu.jpegUtilization),
  field("utilization.ofa", "utilization_ofa_ratio", "ratio", gpu.ofaUtilization),
  field("memory.total", "memory_total_bytes", "B", gpu.memoryTotal),
  field("memory.used", "memory_used_bytes", "B", gpu.memoryUsed, {
    note: "To the byte; nvidia-smi prints whole MiB, so theirs is a multiple of 1,048,576.",
  }),
  field("memory.free", "memory_free_bytes", "B", gpu.memoryFree),
  field("memory.reserved", "memory_reserved_bytes", "B", gpu.memoryReserved),
  field("temperature.gpu", "temperature_gpu", "°C", gpu.temperature, { match: { sensor: "edge" } }),
  field("temperature.memory", "temperature_memory", "°C", gpu.temperature, {
    match: { sensor: "memory" },
  }),
  field("temperature.gpu.tlimit", "temperature_gpu_tlimit", "°C", gpu.temperatureMargin, {
    reported: true,
    note: "Only where the card reports it, as there: a margin computed from a limit is in gpu_temperature_margin_celsius alone.",
  }),
  field("power.draw", "power_draw_watts", "W", gpu.power),
  field("power.draw.average", "power_draw_average_watts", "W", gpu.powerAverage),
  field("power.draw.instant", "power_draw_instant_watts", "W", gpu.powerInstant),
  field("enforced.power.limit", "enforced_power_limit_watts", "W", gpu.powerLimit),
  field("power.limit", "power_limit_watts", "W", gpu.powerLimit, { note: oneLimit }),
  field("power.default_limit", "power_default_limit_watts", "W", gpu.powerLimitDefault),
  field("power.min_limit", "power_min_limit_watts", "W", gpu.powerLimitMin),
  field("power.max_limit", "power_max_limit_watts", "W", gpu.powerLimitMax),
  clock("current", "graphics", gpu.clock),
  clock("current", "sm", gpu.clock),
  clock("current", "memory", gpu.clock),
  clock("current", "video", gpu.clock),
  clock("max", "graphics", gpu.clockMax),
  clock("max", "sm", gpu.clockMax),
  clock("max", "memory", gpu.clockMax),
  field("fan.speed", "fan_speed_ratio", "ratio", gpu.fanSpeed, { match: { fan: "1" } }),
  field("pstate", "pstate", "number", gpu.performanceState),
  field("pcie.link.gen.current", "pcie_link_gen_current", "number", gpu.pcieLinkGeneration),
  field("pcie.link.gen.gpucurrent", "pcie_link_gen_gpucurrent", "number", gpu.pcieLinkGeneration),
  field("pcie.link.gen.max", "pcie_link_gen_max", "number", gpu.pcieLinkGenerationMax),
  field("pcie.link.width.current", "pcie_link_width_current", "lanes", gpu.pcieLinkWidth),
  field("pcie.link.width.max", "pcie_link_width_max", "lanes", gpu.pcieLinkWidthMax),
  ...activeReasons,
  ...reasonCounters,
  ...eccErrors,
  field("ecc.mode.current", "ecc_mode_current", "0 or 1", gpu.eccEnabled),
  field("ecc.mode.pending", "ecc_mode_pending", "0 or 1", gpu.eccPending),
  field("persistence_mode", "persistence_mode", "0 or 1", gpu.persistenceEnabled),
  field("mig.mode.current", "mig_mode_current", "0 or 1", gpu.migEnabled),
  field("mig.mode.pending", "mig_mode_pending", "0 or 1", gpu.migPending),
  field("compute_mode", "compute_mode", "number", gpu.computeMode),
  field("gpu_recovery_action", "gpu_recovery_action", "number", gpu.recoveryAction),
  field("fabric.state", "fabric_state", "number", gpu.fabricState),
  field("remapped_rows.correctable", "remapped_rows_correctable", "count", gpu.remappedRows, {
    match: { cause: "corrected" },
  }),
  field("remapped_rows.uncorrectable", "remapped_rows_uncorrectable", "count", gpu.remappedRows, {
    match: { cause: "uncorrected" },
  }),
  field("remapped_rows.pending", "remapped_rows_pending", "0 or 1", gpu.remappedRowsPending),
  field("remapped_rows.failure", "remapped_rows_failure", "0 or 1", gpu.rowRemapFailed),
  field(
    "retired_pages.single_bit_ecc.count",
    "retired_pages_single_bit_ecc_count",
    "count",
    gpu.retiredPages,
    { match: { cause: "corrected" } },
  ),
  field(
    "retired_pages.double_bit.count",
    "retired_pages_double_bit_count",
    "count",
    gpu.retiredPages,
    { match: { cause: "uncorrected" } },
  ),
  field("retired_pages.pending", "retired_pages_pending", "0 or 1", gpu.retiredPagesPending),
  field("total energy", "energy_joules_total", "J", gpu.energy, { kind: "counter" }),
  field(
    "PCIe transmit throughput",
    "pcie_throughput_tx_bytes_per_second",
    "B/s",
    gpu.pcieThroughput,
    { match: { direction: "transmit" } },
  ),
  field(
    "PCIe receive throughput",
    "pcie_throughput_rx_bytes_per_second",
    "B/s",
    gpu.pcieThroughput,
    { match: { direction: "receive" } },
  ),
  field("XID events", "xid_errors_total", "count", gpu.xidErrors, {
    kind: "counter",
    copy: { xid: "xid" },
  }),
  field("time of the last XID event", "xid_last_timestamp_seconds", "s", gpu.xidLast, {
    copy: { xid: "xid" },
  }),
  field("compute process", "compute_app_info", "1", gpu.processInfo, {
    match: { kind: computeKinds },
    copy: { pid: "pid", process_name: "process" },
    note: "Only where per-process series are on.",
  }),
  field("compute process memory", "compute_app_used_memory_bytes", "B", gpu.processMemory, {
    match: { kind: computeKinds },
    copy: { pid: "pid", process_name: "process" },
    note: "Only where per-process series are on.",
  }),
  field("processes", "compute_apps", "count", gpu.processes, {
    note: "Graphics processes count too.",
  }),
  field("process list was read", "compute_apps_last_collect_success", "1", gpu.processes, {
    perHost: true,
    fold: largest,
    convert: { write: () => 1 },
    note: "Absent if it could not be read; theirs is 0 then.",
  }),
  field("GPUs were read", "last_collect_success", "1", gpu.up, {
    perHost: true,
    fold: largest,
    convert: { write: () => 1 },
    note: "Absent where nothing fresh is there, where theirs is 0: alert on absent(), or on gpulse_source_success.",
  }),
  field("time of the last reading", "last_collect_success_timestamp_seconds", "s", gpu.up, {
    perHost: true,
    fold: largest,
    convert: { write: (_, { timeMs }) => timeMs / 1_000 },
  }),
];

const uuidLabel = (uuid: string): string => uuid.toLowerCase().replace(/^gpu-/, "");

/** A row of a MIG instance: labelled with the UUID of its GPU, so that it joins with the GPU's series. */
const ofInstance = (
  name: string,
  unit: string,
  from: MetricEntry,
  draft: SmiRowOptions = {},
): CompatRow => ({
  name: `nvidia_smi_mig_${name}`,
  kind: "gauge",
  unit,
  help: `${name.replaceAll("_", " ")} of a MIG instance.`,
  from,
  ofInstances: true,
  // Compute instances of one GPU instance share its memory and its counters.
  fold: largest,
  ...draft,
});

const instanceRows: readonly CompatRow[] = [
  ofInstance("info", "1", gpu.info, {
    fold: largest,
    labels: ({ device }) => ({
      mig_uuid: device.uuid,
      compute_instance_id: device.mig?.computeInstance,
      profile: migProfile(device),
    }),
  }),
  ofInstance("memory_total_bytes", "B", gpu.memoryTotal),
  ofInstance("memory_used_bytes", "B", gpu.memoryUsed),
  ofInstance("memory_free_bytes", "B", gpu.memoryFree),
  ofInstance("graphics_activity_ratio", "ratio", gpu.graphicsActivity),
  ofInstance("sm_activity_ratio", "ratio", gpu.smActivity),
  ofInstance("sm_occupancy_ratio", "ratio", gpu.smOccupancy),
  ofInstance("tensor_activity_ratio", "ratio", gpu.tensorActivity),
];

export const nvidiaSmi: CompatTable = {
  name: "nvidia-smi",
  exporter: "utkuozdemir/nvidia_gpu_exporter",
  vendor: "nvidia",
  wholeOnly: true,
  labels: ({ device }) => ({
    uuid: uuidLabel(device.parent ?? device.uuid),
    // An instance without a number is identified by its own UUID, so that two instances never share a series.
    gpu_instance_id:
      device.parent === undefined ? undefined : (device.mig?.gpuInstance ?? device.uuid),
    simulated: simulatedLabel(device),
  }),
  hostLabels: ({ device }) => ({ simulated: simulatedLabel(device) }),
  rows: [...rows, ...instanceRows],
  leftOut: [
    [
      "nvidia_smi_failed_scrapes_total, nvidia_smi_command_exit_code, nvidia_smi_nvml_return_code, nvidia_smi_last_collect_duration_seconds",
      "About running nvidia-smi, which we do not; gpulse_source_reads_total and gpulse_source_read_duration_seconds report on our reads.",
    ],
    [
      "nvidia_smi_mig_memory_reserved_bytes, nvidia_smi_mig_pcie_throughput_tx_bytes_per_second, nvidia_smi_mig_pcie_throughput_rx_bytes_per_second",
      "We read memory in use and free of an instance, and PCIe rates of the whole GPU.",
    ],
    [
      "nvidia_smi_ecc_errors_*_device_memory, nvidia_smi_ecc_errors_*_dram, nvidia_smi_ecc_errors_*_sram*, nvidia_smi_ecc_errors_*_register_file, nvidia_smi_ecc_errors_*_l1_cache, nvidia_smi_ecc_errors_*_l2_cache, nvidia_smi_ecc_errors_*_texture_memory, nvidia_smi_ecc_errors_*_cbu, nvidia_smi_remapped_rows_histogram_*, nvidia_smi_remapped_rows_*_inactive",
      "The totals are there; the breakdown is not in our catalogue.",
    ],
    [
      "nvidia_smi_pcie_link_gen_gpumax, nvidia_smi_pcie_link_gen_hostmax",
      "nvidia_smi_pcie_link_gen_max is the lower of the two, which is what the link can do.",
    ],
    [
      "nvidia_smi_clocks_event_reasons_supported, nvidia_smi_clocks_throttle_reasons_supported",
      "Which bits the card knows: a setting of the card, not a reading.",
    ],
    [
      "nvidia_smi_clocks_applications_*, nvidia_smi_clocks_default_applications_*, nvidia_smi_gom_*, nvidia_smi_power_management, nvidia_smi_power_smoothing_*, nvidia_smi_edpp_multiplier, nvidia_smi_dram_encryption_*, nvidia_smi_driver_model_*, nvidia_smi_addressing_mode, nvidia_smi_display_*, nvidia_smi_accounting_*, nvidia_smi_gsp_*, nvidia_smi_c2c_mode, nvidia_smi_vgpu_*",
      "Settings and capabilities that we do not read as metrics; newer drivers report several of them as deprecated.",
    ],
    [
      "nvidia_smi_module_*, nvidia_smi_protected_memory_*, nvidia_smi_encoder_stats_*, nvidia_smi_fabric_status, nvidia_smi_fabric_clique_id, nvidia_smi_fabric_cluster_uuid, nvidia_smi_fabric_health_*",
      "Of modules with a CPU, confidential computing, video sessions and the fabric beyond its state; not in our catalogue.",
    ],
    [
      "nvidia_smi_name, nvidia_smi_uuid, nvidia_smi_serial, nvidia_smi_vbios_version, nvidia_smi_pci_*, nvidia_smi_inforom_*, nvidia_smi_platform_*, nvidia_smi_compute_cap, nvidia_smi_hostname, nvidia_smi_timestamp, nvidia_smi_kmd_version, nvidia_smi_cuda_umd_version, nvidia_smi_bbx_*",
      "Identifiers and versions; nvidia_smi_gpu_info has the ones we read as labels.",
    ],
  ],
};
