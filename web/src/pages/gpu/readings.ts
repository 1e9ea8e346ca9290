/** The readings of the table "now, min, avg, max": which series each is, and the queries that ask for all of them at once. */
import type { ColumnKey } from "../../../../src/view/live/protocol.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import type { ColourFamily } from "../../chart/model.ts";
import type { InstantSample } from "../../query/client.ts";

export interface GpuReadingSpec {
  readonly key: string;
  readonly label: string;
  readonly family: ColourFamily;
  readonly unit: Unit;
  readonly metric: string;
  /** Labels the series must carry, as `sensor="edge"`. */
  readonly matcher?: string;
  /** Where the live feed has it too: newer by seconds, and it knows why a reading is absent. */
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
    matcher: `direction="receive"`,
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
    matcher: `direction="transmit"`,
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
    matcher: `sensor="${sensor}"`,
  };
}

function clock(domain: string, label: string, live: ColumnKey): GpuReadingSpec {
  return {
    ...of(`clock-${domain}`, label, "clock", "hertz", "gpu_clock_hertz", live),
    matcher: `domain="${domain}"`,
  };
}

export const statistics = ["min", "avg", "max"] as const;
export type Statistic = (typeof statistics)[number];

/** A query that is right and gives nothing. */
const NOTHING = "vector(0) > 0";

/** One answer for all readings of the GPU with the matchers `who`: each carries its key as the label `reading`. Several series of one (fans) become one. */
export function queryAll(
  who: string,
  reported: ReadonlySet<string>,
  over?: [Statistic, string],
): string {
  const asked = readings.filter(({ metric }) => reported.has(metric));
  if (asked.length === 0) return NOTHING;
  return asked
    .map(({ key, metric, matcher }) => {
      const series = `${metric}{${who}${matcher === undefined ? "" : `,${matcher}`}}`;
      const value = over === undefined ? series : `${over[0]}_over_time(${series}[${over[1]}])`;
      const across = over?.[0] ?? "max";
      return `label_replace(${across}(${value}),"reading","${key}","","")`;
    })
    .join(" or ");
}

export const byReading = (
  samples: readonly InstantSample[] | undefined,
): ReadonlyMap<string, number> =>
  new Map((samples ?? []).map(({ labels, value }) => [labels["reading"] ?? "", value]));
