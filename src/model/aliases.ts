/** The usual column names of GPU-Z logs, in their units: `gpu_load` in percent, clocks in MHz. */
import { seriesOf } from "./columns.ts";

export interface Alias {
  readonly name: string;
  readonly column: string;
  /** Factor from the column's unit to the metric's: 100 turns a ratio into percent. */
  readonly scale: number;
}

const percent = 100;
const megahertz = 1e-6;
/** GPU-Z's MB are 2^20 bytes. */
const megabytes = 2 ** -20;

const fans = [1, 2, 3, 4].flatMap((fan): Alias[] => [
  { name: `fan_${fan}_percent`, column: `gpu_fan_speed_ratio_${fan}`, scale: percent },
  { name: `fan_${fan}_rpm`, column: `gpu_fan_rpm_${fan}`, scale: 1 },
]);

const connectors = ["6pin", "6pin_1", "6pin_2", "8pin", "8pin_1", "8pin_2", "8pin_3", "16pin"];
const pins = connectors.flatMap((rail): Alias[] => {
  const name = rail.replace("pin", "_pin");
  return [
    { name: `${name}_power`, column: `gpu_rail_power_watts_${rail}`, scale: 1 },
    { name: `${name}_voltage`, column: `gpu_voltage_volts_${rail}`, scale: 1 },
  ];
});

export const aliases: readonly Alias[] = [
  { name: "gpu_clock", column: "gpu_clock_hertz_graphics", scale: megahertz },
  { name: "memory_clock", column: "gpu_clock_hertz_memory", scale: megahertz },
  { name: "gpu_temperature", column: "gpu_temperature_celsius_edge", scale: 1 },
  { name: "hot_spot_temperature", column: "gpu_temperature_celsius_hotspot", scale: 1 },
  { name: "memory_temperature", column: "gpu_temperature_celsius_memory", scale: 1 },
  { name: "cpu_temperature", column: "host_cpu_temperature_celsius_package", scale: 1 },
  { name: "gpu_load", column: "gpu_utilization_ratio", scale: percent },
  {
    name: "memory_controller_load",
    column: "gpu_memory_controller_utilization_ratio",
    scale: percent,
  },
  { name: "video_engine_load", column: "gpu_decoder_utilization_ratio", scale: percent },
  { name: "bus_interface_load", column: "gpu_bus_utilization_ratio", scale: percent },
  { name: "memory_used", column: "gpu_memory_used_bytes", scale: megabytes },
  { name: "memory_used_dynamic", column: "gpu_memory_shared_used_bytes", scale: megabytes },
  { name: "system_memory_used", column: "host_memory_used_bytes", scale: megabytes },
  { name: "board_power", column: "gpu_power_watts", scale: 1 },
  { name: "gpu_chip_power", column: "gpu_chip_power_watts", scale: 1 },
  { name: "memory_power", column: "gpu_memory_power_watts", scale: 1 },
  { name: "power_percent_tdp", column: "gpu_power_tdp_ratio", scale: percent },
  { name: "pcie_slot_power", column: "gpu_rail_power_watts_slot", scale: 1 },
  { name: "pcie_slot_voltage", column: "gpu_voltage_volts_slot", scale: 1 },
  { name: "gpu_voltage", column: "gpu_voltage_volts_gfx", scale: 1 },
  { name: "memory_voltage", column: "gpu_voltage_volts_memory", scale: 1 },
  ...fans,
  ...pins,
];

const byName = new Map(aliases.map((alias) => [alias.name, alias]));

/** Finds a column by its own name or by an alias. */
export function findColumn(name: string): Alias | undefined {
  return byName.get(name) ?? (seriesOf(name) && { name, column: name, scale: 1 });
}
