/** All compared metrics, one entry each: title, source, and which direction is better. A table. */
import type { MetricEntry, Unit } from "../../model/catalogue/entry.ts";
import { gpu } from "../../model/catalogue/index.ts";

export type CompareUnit = Unit | "work_per_second" | "work_per_second_watt" | "work_per_joule";

export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly unit: CompareUnit;
  /** Undefined if neither direction is better: a cooler card is not better if it did less. */
  readonly better?: "higher" | "lower";
  /**
   * Whether differences are tested and reported as a ratio or as absolute differences. A percentage of a temperature or of a
   * percentage is meaningless.
   */
  readonly as: "ratio" | "difference";
  /** The inputs that must be comparable: if they are not, the metric is not compared. */
  readonly needs: readonly ("power" | "work")[];
  /** The resolution of a reading, in the metric's unit; absent if readings have none of their own. */
  readonly resolution?: number;
  readonly sampled?: SampledColumn;
}

export interface SampledColumn {
  /** A column of the lake; `power` stands for the column of the GPU's kind of power. */
  readonly column: string;
  /** How the GPUs of a run are aggregated. */
  readonly across: "sum" | "mean" | "max";
}

export const throttleColumn = "gpu_throttle_active_";

const sampled = (
  key: string,
  title: string,
  entry: MetricEntry,
  across: SampledColumn["across"],
  more: Partial<Metric> & { readonly column?: string } = {},
): Metric => {
  const { unit, resolution, name } = entry;
  const { column = name, ...rest } = more;
  return {
    key,
    title,
    unit,
    as: unit === "celsius" || unit === "ratio" || unit === "watts" ? "difference" : "ratio",
    needs: [],
    resolution,
    sampled: { column, across },
    ...rest,
  };
};

const temperature = (key: string, sensor: string): Metric =>
  sampled(key, `Temperature, ${sensor}`, gpu.temperature, "max", {
    column: `gpu_temperature_celsius_${sensor}`,
  });

const clock = (key: string, title: string, domain: string): Metric =>
  sampled(key, title, gpu.clock, "mean", { column: `gpu_clock_hertz_${domain}` });

export const metrics: readonly Metric[] = [
  {
    key: "perWatt",
    title: "Performance per watt",
    unit: "work_per_second_watt",
    better: "higher",
    as: "ratio",
    needs: ["power", "work"],
  },
  {
    key: "perJoule",
    title: "Performance per joule",
    unit: "work_per_joule",
    better: "higher",
    as: "ratio",
    needs: ["power", "work"],
  },
  {
    key: "throughput",
    title: "Throughput",
    unit: "work_per_second",
    better: "higher",
    as: "ratio",
    needs: ["work"],
  },
  { key: "duration", title: "Duration", unit: "seconds", as: "ratio", needs: [] },
  sampled("power", "Power", gpu.power, "sum", {
    column: "power",
    better: "lower",
    needs: ["power"],
  }),
  {
    key: "energyCounter",
    title: "Energy, device's counter",
    unit: "joules",
    better: "lower",
    as: "ratio",
    needs: ["power"],
  },
  {
    key: "energyIntegrated",
    title: "Energy, power added up",
    unit: "joules",
    better: "lower",
    as: "ratio",
    needs: ["power"],
  },
  sampled("utilization", "Utilisation", gpu.utilization, "mean"),
  temperature("edge", "edge"),
  temperature("hotspot", "hotspot"),
  temperature("memoryTemperature", "memory"),
  {
    key: "rise",
    title: "Temperature over idle",
    unit: "celsius",
    as: "difference",
    needs: [],
    resolution: gpu.temperature.resolution,
  },
  clock("clock", "Graphics clock", "graphics"),
  clock("memoryClock", "Memory clock", "memory"),
  sampled("memory", "Memory used", gpu.memoryUsed, "sum"),
  sampled("fan", "Fans", gpu.fanSpeed, "mean", { column: "gpu_fan_speed_ratio_1" }),
];

/** The share of time in which a reason throttled the clocks: a mean of zeros and ones, without a resolution of its own. */
export const throttleMetric = (reason: string): Metric => ({
  key: `throttle.${reason}`,
  title: `Clocks held down: ${reason.replaceAll("_", " ")}`,
  unit: "ratio",
  better: "lower",
  as: "difference",
  needs: [],
  sampled: { column: throttleColumn + reason, across: "mean" },
});
