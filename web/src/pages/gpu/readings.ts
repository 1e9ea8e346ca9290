/** The readings of the "now, min, avg, max" table, and the series of each. */
import type { ColumnKey } from "../../../../src/view/live/protocol.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import type { ColourFamily } from "../../chart/model.ts";
import type { Labels } from "../../query/columns.ts";

export interface GpuReadingSpec {
  readonly key: string;
  readonly label: string;
  readonly family: ColourFamily;
  readonly unit: Unit;
  readonly metric: string;
  /** Labels the series must have. */
  readonly labels?: Labels;
  /** The column of the live feed, if it has one: newer by seconds, and with the reason for an absent value. */
  readonly live?: ColumnKey;
}

export const readings: readonly GpuReadingSpec[] = [
  of("utilization", "Utilisation", "utilization", "ratio", "gpu_utilization_ratio", "utilization"),
  of("sm", "SM activity", "utilization", "ratio", "gpu_sm_activity_ratio"),
  of("tensor", "Tensor activity", "utilization", "ratio", "gpu_tensor_activity_ratio"),
  of("dram", "Memory activity", "utilization", "ratio", "gpu_dram_activity_ratio"),
  of("occupancy", "SM occupancy", "utilization", "ratio", "gpu_sm_occupancy_ratio"),
  of("fp32", "FP32 activity", "utilization", "ratio", "gpu_fp32_activity_ratio"),
  of("fp64", "FP64 activity", "utilization", "ratio", "gpu_fp64_activity_ratio"),
  of("integer", "Integer activity", "utilization", "ratio", "gpu_integer_activity_ratio"),
  of("memory", "Memory used", "memory", "bytes", "gpu_memory_used_bytes", "memoryUsed"),
  temperature("edge", "Temperature", "temperatureEdge"),
  temperature("hotspot", "Hotspot", "temperatureHotspot"),
  temperature("memory", "Memory temperature", "temperatureMemory"),
  of(
    "margin",
    "Below slowdown",
    "temperature",
    "celsius",
    "gpu_temperature_margin_celsius",
    "temperatureMargin",
  ),
  of("power", "Power", "power", "watts", "gpu_power_watts", "power"),
  of("limit", "Power limit", "power", "watts", "gpu_power_limit_watts", "powerLimit"),
  clock("sm", "SM clock", "clockSm"),
  clock("graphics", "Graphics clock", "clockGraphics"),
  clock("memory", "Memory clock", "clockMemory"),
  of("fan", "Fan", "fan", "ratio", "gpu_fan_speed_ratio", "fan"),
  of("voltage", "Voltage", "count", "volts", "gpu_voltage_volts"),
  {
    ...of(
      "rx",
      "PCIe receive",
      "count",
      "bytes_per_second",
      "gpu_pcie_throughput_bytes_per_second",
      "pcieRx",
    ),
    labels: { direction: "receive" },
  },
  {
    ...of(
      "tx",
      "PCIe transmit",
      "count",
      "bytes_per_second",
      "gpu_pcie_throughput_bytes_per_second",
      "pcieTx",
    ),
    labels: { direction: "transmit" },
  },
];

function of(
  key: string,
  label: string,
  family: ColourFamily,
  unit: Unit,
  metric: string,
  live?: ColumnKey,
): GpuReadingSpec {
  return { key, label, family, unit, metric, ...(live === undefined ? {} : { live }) };
}

function temperature(sensor: string, label: string, live: ColumnKey): GpuReadingSpec {
  const metric = "gpu_temperature_celsius";
  return {
    ...of(`temperature-${sensor}`, label, "temperature", "celsius", metric, live),
    labels: { sensor },
  };
}

function clock(domain: string, label: string, live: ColumnKey): GpuReadingSpec {
  return {
    ...of(`clock-${domain}`, label, "clock", "hertz", "gpu_clock_hertz", live),
    labels: { domain },
  };
}
