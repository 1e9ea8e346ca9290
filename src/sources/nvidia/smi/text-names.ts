/** A table: what `nvidia-smi -q` calls a section and its lines, and where the same stands in the XML. Newer and older names alike. */

interface Section {
  readonly text: string;
  readonly xml: string;
  readonly lines: Readonly<Record<string, string>>;
}

const memory = { Total: "total", Reserved: "reserved", Used: "used", Free: "free" };
const clocks = {
  Graphics: "graphics_clock",
  SM: "sm_clock",
  Memory: "mem_clock",
  Video: "video_clock",
};
const limits = {
  "Current Power Limit": "current_power_limit",
  "Enforced Power Limit": "enforced_power_limit",
  "Power Limit": "power_limit",
  "Default Power Limit": "default_power_limit",
  "Min Power Limit": "min_power_limit",
  "Max Power Limit": "max_power_limit",
};
const power = {
  "Average Power Draw": "average_power_draw",
  "Instantaneous Power Draw": "instant_power_draw",
  "Power Draw": "power_draw",
  ...limits,
};
const ecc = {
  "SRAM Correctable": "sram_correctable",
  "SRAM Uncorrectable": "sram_uncorrectable",
  "SRAM Uncorrectable Parity": "sram_uncorrectable_parity",
  "SRAM Uncorrectable SEC-DED": "sram_uncorrectable_secded",
  "DRAM Correctable": "dram_correctable",
  "DRAM Uncorrectable": "dram_uncorrectable",
  "Single Bit/Total": "single_bit/total",
  "Double Bit/Total": "double_bit/total",
};

const reasons = (word: "event" | "throttle"): Section => ({
  text: word === "event" ? "Clocks Event Reasons/" : "Clocks Throttle Reasons/",
  xml: `clocks_${word}_reasons/clocks_${word}_reason_`,
  lines: {
    Idle: "gpu_idle",
    "Applications Clocks Setting": "applications_clocks_setting",
    "SW Power Cap": "sw_power_cap",
    "HW Slowdown": "hw_slowdown",
    "HW Slowdown/HW Thermal Slowdown": "hw_thermal_slowdown",
    "HW Slowdown/HW Power Brake Slowdown": "hw_power_brake_slowdown",
    "Sync Boost": "sync_boost",
    "SW Thermal Slowdown": "sw_thermal_slowdown",
    "Display Clock Setting": "display_clocks_setting",
  },
});

const sections: readonly Section[] = [
  {
    text: "",
    xml: "",
    lines: {
      "Product Name": "product_name",
      "GPU UUID": "uuid",
      "VBIOS Version": "vbios_version",
      "Persistence Mode": "persistence_mode",
      "MIG Mode/Current": "mig_mode/current_mig",
      "MIG Mode/Pending": "mig_mode/pending_mig",
      "Compute Mode": "compute_mode",
      "GPU Recovery Action": "gpu_recovery_action",
      "Fabric/State": "fabric/state",
      "Voltage/Graphics": "voltage/graphics_volt",
      "Fan Speed": "fan_speed",
      "Performance State": "performance_state",
      "ECC Mode/Current": "ecc_mode/current_ecc",
      "ECC Mode/Pending": "ecc_mode/pending_ecc",
      // Of an instance.
      UUID: "uuid",
      "GPU Instance ID": "gpu_instance_id",
      "Compute Instance ID": "compute_instance_id",
    },
  },
  {
    text: "PCI/",
    xml: "pci/",
    lines: {
      "Bus Id": "pci_bus_id",
      "GPU Link Info/PCIe Generation/Max": "pci_gpu_link_info/pcie_gen/max_link_gen",
      "GPU Link Info/PCIe Generation/Current": "pci_gpu_link_info/pcie_gen/current_link_gen",
      "GPU Link Info/Link Width/Max": "pci_gpu_link_info/link_widths/max_link_width",
      "GPU Link Info/Link Width/Current": "pci_gpu_link_info/link_widths/current_link_width",
      "Replays Since Reset": "replay_counter",
      "Tx Throughput": "tx_util",
      "Rx Throughput": "rx_util",
    },
  },
  reasons("event"),
  reasons("throttle"),
  {
    text: "Clocks Event Reasons Counters/",
    xml: "clocks_event_reasons_counters/clocks_event_reasons_counters_",
    lines: {
      "SW Power Capping": "sw_power_cap",
      "Sync Boost": "sync_boost",
      "SW Thermal Slowdown": "sw_therm_slowdown",
      "HW Thermal Slowdown": "hw_therm_slowdown",
      "HW Power Braking": "hw_power_brake",
    },
  },
  { text: "FB Memory Usage/", xml: "fb_memory_usage/", lines: memory },
  { text: "Shared FB Memory Usage/", xml: "fb_memory_usage/", lines: memory },
  { text: "BAR1 Memory Usage/", xml: "bar1_memory_usage/", lines: memory },
  {
    text: "Utilization/",
    xml: "utilization/",
    lines: {
      GPU: "gpu_util",
      Gpu: "gpu_util",
      Memory: "memory_util",
      Encoder: "encoder_util",
      Decoder: "decoder_util",
      JPEG: "jpeg_util",
      OFA: "ofa_util",
    },
  },
  { text: "ECC Errors/Volatile/", xml: "ecc_errors/volatile/", lines: ecc },
  { text: "ECC Errors/Aggregate/", xml: "ecc_errors/aggregate/", lines: ecc },
  {
    text: "Retired Pages/",
    xml: "retired_pages/",
    lines: {
      "Single Bit ECC": "multiple_single_bit_retirement/retired_count",
      "Double Bit ECC": "double_bit_retirement/retired_count",
      "Pending Page Blacklist": "pending_blacklist",
    },
  },
  {
    text: "Remapped Rows/",
    xml: "remapped_rows/",
    lines: {
      "Correctable Error": "remapped_row_corr",
      "Uncorrectable Error": "remapped_row_unc",
      Pending: "remapped_row_pending",
      "Remapping Failure Occurred": "remapped_row_failure",
    },
  },
  {
    text: "Temperature/",
    xml: "temperature/",
    lines: {
      "GPU Current Temp": "gpu_temp",
      "GPU T.Limit Temp": "gpu_temp_tlimit",
      "GPU Current T.Limit Temp": "gpu_temp_tlimit",
      "GPU Shutdown Temp": "gpu_temp_max_threshold",
      "GPU Slowdown Temp": "gpu_temp_slow_threshold",
      "GPU Target Temperature": "gpu_target_temperature",
      "GPU Target Temperature Specification": "gpu_target_temperature",
      "Memory Current Temp": "memory_temp",
      "Memory Max Operating Temp": "gpu_temp_max_mem_threshold",
    },
  },
  { text: "GPU Power Readings/", xml: "gpu_power_readings/", lines: power },
  {
    text: "GPU Power Readings/GPU Ceiling Power Limit/",
    xml: "gpu_power_readings/",
    lines: limits,
  },
  { text: "Power Readings/", xml: "power_readings/", lines: power },
  { text: "GPU Memory Power Readings/", xml: "gpu_memory_power_readings/", lines: power },
  { text: "Clocks/", xml: "clocks/", lines: clocks },
  { text: "Max Clocks/", xml: "max_clocks/", lines: clocks },
];

/** `Clocks/SM` to `clocks/sm_clock`. */
export const xmlPaths: ReadonlyMap<string, string> = new Map(
  sections.flatMap(({ text, xml, lines }) =>
    Object.entries(lines).map(([line, name]) => [text + line, xml + name] as const),
  ),
);
