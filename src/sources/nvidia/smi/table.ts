/** Where each metric is in nvidia-smi's XML, schemas v10 to v13. */
import type { GpuMetric } from "../protocol.ts";
import type { CellKind } from "./value.ts";

export interface SmiRule {
  readonly metric: GpuMetric;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly as: CellKind;
  /** The first existing path is used; newer schemas' paths come first. */
  readonly xml: readonly string[];
  /** Used if the XML contains only parts: the sum of those that are reported. */
  readonly sum?: readonly string[];
}

const rule = (
  metric: GpuMetric,
  as: CellKind,
  xml: string | readonly string[],
  labels?: Readonly<Record<string, string>>,
): SmiRule => ({ metric, as, xml: typeof xml === "string" ? [xml] : xml, labels });

const power = (name: string): string[] => [`gpu_power_readings/${name}`, `power_readings/${name}`];

const clocks = (["graphics", "sm", "memory", "video"] as const).flatMap((domain) => {
  const tag = domain === "memory" ? "mem_clock" : `${domain}_clock`;
  return [
    rule("clock", "hertz", `clocks/${tag}`, { domain }),
    rule("clockMax", "hertz", `max_clocks/${tag}`, { domain }),
  ];
});

const ecc = (["corrected", "uncorrected"] as const).flatMap((type) =>
  (["volatile", "aggregate"] as const).map((span): SmiRule => {
    const bits = type === "corrected" ? "single_bit" : "double_bit";
    const kind = type === "corrected" ? "correctable" : "uncorrectable";
    const parts = ["sram", "dram"].flatMap((place) =>
      ["", "_parity", "_secded"].map((ending) => `ecc_errors/${span}/${place}_${kind}${ending}`),
    );
    return {
      metric: span === "volatile" ? "eccErrors" : "eccLifetimeErrors",
      labels: { type },
      as: "count",
      xml: [`ecc_errors/${span}/${bits}/total`],
      sum: parts,
    };
  }),
);

const counter = (reason: string, xml: string): SmiRule =>
  rule(
    "throttleSeconds",
    "seconds",
    [`clocks_event_reasons_counters/clocks_event_reasons_counters_${xml}`],
    { reason },
  );

export const smiRules: readonly SmiRule[] = [
  rule("utilization", "ratio", "utilization/gpu_util"),
  rule("memoryControllerUtilization", "ratio", "utilization/memory_util"),
  rule("encoderUtilization", "ratio", "utilization/encoder_util"),
  rule("decoderUtilization", "ratio", "utilization/decoder_util"),
  rule("jpegUtilization", "ratio", "utilization/jpeg_util"),
  rule("ofaUtilization", "ratio", "utilization/ofa_util"),
  rule("memoryUsed", "bytes", "fb_memory_usage/used"),
  rule("memoryFree", "bytes", "fb_memory_usage/free"),
  rule("memoryTotal", "bytes", "fb_memory_usage/total"),
  rule("memoryReserved", "bytes", "fb_memory_usage/reserved"),
  rule("visibleMemoryUsed", "bytes", "bar1_memory_usage/used"),
  rule("visibleMemoryTotal", "bytes", "bar1_memory_usage/total"),
  rule("temperature", "celsius", "temperature/gpu_temp", { sensor: "edge" }),
  rule("temperature", "celsius", "temperature/memory_temp", {
    sensor: "memory",
  }),
  rule("temperatureMargin", "celsius", "temperature/gpu_temp_tlimit"),
  rule("temperatureLimit", "celsius", "temperature/gpu_temp_max_threshold", {
    limit: "shutdown",
  }),
  rule("temperatureLimit", "celsius", "temperature/gpu_temp_slow_threshold", {
    limit: "slowdown",
  }),
  rule("temperatureLimit", "celsius", "temperature/gpu_target_temperature", {
    limit: "target",
  }),
  rule("temperatureLimit", "celsius", "temperature/gpu_temp_max_mem_threshold", {
    limit: "memory",
  }),
  // Cards before Ampere report no average: for them NVML and power.draw return the instantaneous power.
  rule("power", "watts", [
    ...power("average_power_draw"),
    ...power("power_draw"),
    ...power("instant_power_draw"),
  ]),
  rule("powerAverage", "watts", power("average_power_draw")),
  rule("powerInstant", "watts", power("instant_power_draw")),
  rule("memoryPower", "watts", "gpu_memory_power_readings/average_power_draw"),
  rule("powerLimit", "watts", [
    ...power("enforced_power_limit"),
    ...power("current_power_limit"),
    ...power("power_limit"),
  ]),
  rule("powerLimitDefault", "watts", power("default_power_limit")),
  rule("powerLimitMin", "watts", power("min_power_limit")),
  rule("powerLimitMax", "watts", power("max_power_limit")),
  ...clocks,
  rule("voltage", "volts", "voltage/graphics_volt", { rail: "gfx" }),
  rule("fanSpeed", "ratio", "fan_speed", { fan: "1" }),
  rule("performanceState", "pstate", "performance_state"),
  counter("power_cap", "sw_power_cap"),
  counter("sync_boost", "sync_boost"),
  counter("thermal", "sw_therm_slowdown"),
  counter("thermal_hardware", "hw_therm_slowdown"),
  counter("power_brake", "hw_power_brake"),
  rule("pcieLinkGeneration", "count", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
  rule("pcieLinkGenerationMax", "count", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
  rule("pcieLinkWidth", "count", "pci/pci_gpu_link_info/link_widths/current_link_width"),
  rule("pcieLinkWidthMax", "count", "pci/pci_gpu_link_info/link_widths/max_link_width"),
  rule("pcieThroughput", "rate", "pci/tx_util", { direction: "transmit" }),
  rule("pcieThroughput", "rate", "pci/rx_util", { direction: "receive" }),
  rule("pcieReplays", "count", "pci/replay_counter"),
  ...ecc,
  rule("eccEnabled", "yes", "ecc_mode/current_ecc"),
  rule("eccPending", "yes", "ecc_mode/pending_ecc"),
  rule("retiredPages", "count", "retired_pages/multiple_single_bit_retirement/retired_count", {
    cause: "corrected",
  }),
  rule("retiredPages", "count", "retired_pages/double_bit_retirement/retired_count", {
    cause: "uncorrected",
  }),
  rule("retiredPagesPending", "yes", [
    "retired_pages/pending_retirement",
    "retired_pages/pending_blacklist",
  ]),
  rule("remappedRows", "count", "remapped_rows/remapped_row_corr", { cause: "corrected" }),
  rule("remappedRows", "count", "remapped_rows/remapped_row_unc", { cause: "uncorrected" }),
  rule("remappedRowsPending", "yes", "remapped_rows/remapped_row_pending"),
  rule("rowRemapFailed", "yes", "remapped_rows/remapped_row_failure"),
  rule("persistenceEnabled", "yes", "persistence_mode"),
  rule("migEnabled", "yes", "mig_mode/current_mig"),
  rule("migPending", "yes", "mig_mode/pending_mig"),
  rule("computeMode", "computeMode", "compute_mode"),
  rule("recoveryAction", "recoveryAction", "gpu_recovery_action"),
  rule("fabricState", "fabricState", "fabric/state"),
];

/** The idle bit is part of the mask but does not lower a clock. */
export const idleBit = 0;

/** Throttle reasons by bit in NVML's mask, and by the ending of their name in the XML. */
export const reasonBits: readonly (readonly [bit: number, ending: string])[] = [
  [idleBit, "gpu_idle"],
  [1, "applications_clocks_setting"],
  [2, "sw_power_cap"],
  [3, "hw_slowdown"],
  [4, "sync_boost"],
  [5, "sw_thermal_slowdown"],
  [6, "hw_thermal_slowdown"],
  [7, "hw_power_brake_slowdown"],
  [8, "display_clocks_setting"],
];
