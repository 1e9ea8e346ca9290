// What of our page is held against which element of `nvidia-smi -q -x`, and how close it must be. A table.

const MIB = 1_048_576;

/**
 * @typedef {object} Comparison
 * @property {string} name metric on our page
 * @property {Record<string, string>} [labels]
 * @property {string} path element of nvidia-smi's XML under <gpu>
 * @property {number} [scale] what nvidia-smi's number is multiplied with to be in our unit
 * @property {number} [within] largest difference in our unit
 * @property {number} [share] largest difference as a share of nvidia-smi's value
 * @property {"yes"} [as] a word such as Enabled, Active or Yes
 */

const power = "gpu_power_readings";
const link = "pci/pci_gpu_link_info";
const reasons = "clocks_event_reasons/clocks_event_reason";
const counters = "clocks_event_reasons_counters/clocks_event_reasons_counters";
const clock = (/** @type {string} */ domain, /** @type {string} */ tag) => [
  { name: "gpu_clock_hertz", labels: { domain }, path: `clocks/${tag}`, scale: 1e6, share: 0.02 },
  { name: "gpu_clock_max_hertz", labels: { domain }, path: `max_clocks/${tag}`, scale: 1e6 },
];
const reason = (/** @type {string} */ label, /** @type {string} */ tag) => ({
  name: "gpu_throttle_active",
  labels: { reason: label },
  path: `${reasons}_${tag}`,
  as: /** @type {const} */ ("yes"),
});
// The counters run while both are read; two seconds is what may lie between.
const counter = (/** @type {string} */ label, /** @type {string} */ tag) => ({
  name: "gpu_throttle_seconds_total",
  labels: { reason: label },
  path: `${counters}_${tag}`,
  scale: 1e-6,
  within: 2,
});

/** @type {readonly Comparison[]} */
export const comparisons = [
  { name: "gpu_utilization_ratio", path: "utilization/gpu_util", scale: 0.01, within: 0.05 },
  {
    name: "gpu_memory_controller_utilization_ratio",
    path: "utilization/memory_util",
    scale: 0.01,
    within: 0.05,
  },
  {
    name: "gpu_jpeg_utilization_ratio",
    path: "utilization/jpeg_util",
    scale: 0.01,
    within: 0.05,
  },
  { name: "gpu_ofa_utilization_ratio", path: "utilization/ofa_util", scale: 0.01, within: 0.05 },
  {
    name: "gpu_encoder_utilization_ratio",
    path: "utilization/encoder_util",
    scale: 0.01,
    within: 0.05,
  },
  {
    name: "gpu_decoder_utilization_ratio",
    path: "utilization/decoder_util",
    scale: 0.01,
    within: 0.05,
  },
  // nvidia-smi prints whole MiB: equal means equal to the MiB.
  { name: "gpu_memory_used_bytes", path: "fb_memory_usage/used", scale: MIB, within: MIB },
  { name: "gpu_memory_free_bytes", path: "fb_memory_usage/free", scale: MIB, within: MIB },
  { name: "gpu_memory_total_bytes", path: "fb_memory_usage/total", scale: MIB, within: MIB },
  { name: "gpu_memory_reserved_bytes", path: "fb_memory_usage/reserved", scale: MIB, within: MIB },
  {
    name: "gpu_memory_visible_used_bytes",
    path: "bar1_memory_usage/used",
    scale: MIB,
    within: MIB,
  },
  {
    name: "gpu_memory_visible_total_bytes",
    path: "bar1_memory_usage/total",
    scale: MIB,
    within: MIB,
  },
  {
    name: "gpu_temperature_celsius",
    labels: { sensor: "edge" },
    path: "temperature/gpu_temp",
    within: 1,
  },
  {
    name: "gpu_temperature_celsius",
    labels: { sensor: "memory" },
    path: "temperature/memory_temp",
    within: 1,
  },
  { name: "gpu_temperature_margin_celsius", path: "temperature/gpu_temp_tlimit", within: 2 },
  { name: "gpu_power_watts", path: `${power}/average_power_draw`, share: 0.05 },
  { name: "gpu_power_average_watts", path: `${power}/average_power_draw`, share: 0.05 },
  { name: "gpu_power_instant_watts", path: `${power}/instant_power_draw`, share: 0.05 },
  {
    name: "gpu_memory_power_watts",
    path: "gpu_memory_power_readings/average_power_draw",
    share: 0.05,
  },
  { name: "gpu_power_limit_watts", path: `${power}/current_power_limit` },
  { name: "gpu_power_limit_default_watts", path: `${power}/default_power_limit` },
  { name: "gpu_power_limit_min_watts", path: `${power}/min_power_limit` },
  { name: "gpu_power_limit_max_watts", path: `${power}/max_power_limit` },
  ...clock("graphics", "graphics_clock"),
  ...clock("sm", "sm_clock"),
  ...clock("memory", "mem_clock"),
  ...clock("video", "video_clock"),
  {
    name: "gpu_fan_speed_ratio",
    labels: { fan: "1" },
    path: "fan_speed",
    scale: 0.01,
    within: 0.05,
  },
  { name: "gpu_performance_state", path: "performance_state" },
  reason("power_cap", "sw_power_cap"),
  reason("power_brake", "hw_power_brake_slowdown"),
  reason("thermal", "sw_thermal_slowdown"),
  reason("thermal_hardware", "hw_thermal_slowdown"),
  reason("sync_boost", "sync_boost"),
  reason("clock_setting", "applications_clocks_setting"),
  counter("power_cap", "sw_power_cap"),
  counter("sync_boost", "sync_boost"),
  counter("thermal", "sw_therm_slowdown"),
  counter("thermal_hardware", "hw_therm_slowdown"),
  counter("power_brake", "hw_power_brake"),
  { name: "gpu_pcie_link_generation", path: `${link}/pcie_gen/current_link_gen` },
  { name: "gpu_pcie_link_generation_max", path: `${link}/pcie_gen/max_link_gen` },
  { name: "gpu_pcie_link_width", path: `${link}/link_widths/current_link_width` },
  { name: "gpu_pcie_link_width_max", path: `${link}/link_widths/max_link_width` },
  { name: "gpu_pcie_replays_total", path: "pci/replay_counter" },
  { name: "gpu_ecc_enabled", path: "ecc_mode/current_ecc", as: "yes" },
  { name: "gpu_ecc_pending", path: "ecc_mode/pending_ecc", as: "yes" },
  { name: "gpu_persistence_enabled", path: "persistence_mode", as: "yes" },
  { name: "gpu_mig_enabled", path: "mig_mode/current_mig", as: "yes" },
  { name: "gpu_mig_pending", path: "mig_mode/pending_mig", as: "yes" },
  {
    name: "gpu_retired_pages",
    labels: { cause: "corrected" },
    path: "retired_pages/multiple_single_bit_retirement/retired_count",
  },
  {
    name: "gpu_retired_pages",
    labels: { cause: "uncorrected" },
    path: "retired_pages/double_bit_retirement/retired_count",
  },
  { name: "gpu_retired_pages_pending", path: "retired_pages/pending_retirement", as: "yes" },
  {
    name: "gpu_remapped_rows",
    labels: { cause: "corrected" },
    path: "remapped_rows/remapped_row_corr",
  },
  {
    name: "gpu_remapped_rows",
    labels: { cause: "uncorrected" },
    path: "remapped_rows/remapped_row_unc",
  },
  { name: "gpu_remapped_rows_pending", path: "remapped_rows/remapped_row_pending", as: "yes" },
  { name: "gpu_row_remap_failed", path: "remapped_rows/remapped_row_failure", as: "yes" },
];

/** Sums, since nvidia-smi reports the parts: our metric, its labels, the parts. */
export const sums = ["volatile", "aggregate"].flatMap((span) =>
  ["corrected", "uncorrected"].map((type) => ({
    name: span === "volatile" ? "gpu_ecc_errors_total" : "gpu_ecc_lifetime_errors_total",
    labels: { type },
    paths: (type === "corrected"
      ? ["sram_correctable", "dram_correctable"]
      : [
          "sram_uncorrectable_parity",
          "sram_uncorrectable_secded",
          "sram_uncorrectable",
          "dram_uncorrectable",
        ]
    ).map((part) => `ecc_errors/${span}/${part}`),
  })),
);
