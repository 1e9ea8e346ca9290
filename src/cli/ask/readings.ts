/** The readings that questions ask about: their words, metrics and units. */
import type { Concept } from "./words.ts";

export interface StateReading {
  readonly concept: Concept;
  readonly sort: string;
  readonly metric: string;
  readonly whole: "avg" | "sum" | "max";
  readonly unit: string;
  readonly scale?: string;
  /** A GPU has several sensors: the highest counts, as in the table of GPUs. */
  readonly isPerSensor?: true;
  readonly labels?: readonly string[];
}

export const stateReadings: readonly StateReading[] = [
  {
    concept: "limit",
    sort: "power_limit",
    metric: "gpu_power_limit_watts",
    whole: "sum",
    unit: "W",
  },
  {
    concept: "temperature",
    sort: "temperature",
    metric: "gpu_temperature_celsius",
    whole: "max",
    unit: "°C",
    isPerSensor: true,
  },
  {
    concept: "heat",
    sort: "temperature",
    metric: "gpu_temperature_celsius",
    whole: "max",
    unit: "°C",
    isPerSensor: true,
  },
  { concept: "power", sort: "power", metric: "gpu_power_watts", whole: "sum", unit: "W" },
  {
    concept: "memory",
    sort: "memory",
    metric: "gpu_memory_used_bytes",
    whole: "sum",
    unit: "GiB",
    scale: " / 2^30",
  },
  {
    concept: "clock",
    sort: "clock",
    metric: "gpu_clock_hertz",
    whole: "avg",
    unit: "MHz",
    scale: " / 1e6",
    labels: ['domain=~"sm|graphics"'],
  },
  {
    concept: "utilization",
    sort: "utilization",
    metric: "gpu_utilization_ratio",
    whole: "avg",
    unit: "%",
    scale: " * 100",
  },
  {
    concept: "busy",
    sort: "utilization",
    metric: "gpu_utilization_ratio",
    whole: "avg",
    unit: "%",
    scale: " * 100",
  },
];

/** Readings that are no column of the state of GPUs. */
export const otherReadings: readonly (readonly [
  Concept,
  metric: string,
  scale: string,
  unit: string,
])[] = [
  ["fan", "gpu_fan_speed_ratio", " * 100", "%"],
  ["encoder", "gpu_encoder_utilization_ratio", " * 100", "%"],
  ["nvlink", "gpu_interconnect_throughput_bytes_per_second", " / 1e9", "GB/s"],
  ["pcie", "gpu_pcie_throughput_bytes_per_second", " / 1e9", "GB/s"],
];

export const errorMetrics: readonly (readonly [Concept, metric: string])[] = [
  ["ecc", "gpu_ecc_errors_total"],
  ["memory", "gpu_ecc_errors_total"],
  ["pcie", "gpu_pcie_replays_total"],
  ["nvlink", "gpu_interconnect_errors_total"],
];
