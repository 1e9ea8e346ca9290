/** Everything that is compared, one entry a metric: what it is called, where it comes from, and which way is better. A table. */
import type { MetricEntry, Unit } from "../../model/catalogue/entry.ts";
import { gpu } from "../../model/catalogue/index.ts";

export type CompareUnit = Unit | "work_per_second" | "work_per_second_watt" | "work_per_joule";

export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly unit: CompareUnit;
  /** Undefined where neither is: a cooler card is not better when it did less. */
  readonly better?: "higher" | "lower";
  /** Differences are tested and reported as a ratio, or as they are. A percent of a degree or of a percent means nothing. */
  readonly as: "ratio" | "difference";
  /** What it stands on: where that is not alike, it is not compared. */
  readonly needs: readonly ("power" | "work")[];
  /** The smallest step of a reading, in the metric's unit; absent where readings have none of their own. */
  readonly resolution?: number;
  readonly sampled?: SampledColumn;
}

export interface SampledColumn {
  /** A column of the lake; `power` is the one the kind of power says. */
  readonly column: string;
  /** Makes one number of the GPUs of a run. */
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

/** Share of time in which clocks were held down for a reason: a mean of zeros and ones, which has no step of its own. */
export const throttleMetric = (reason: string): Metric => ({
  key: `throttle.${reason}`,
  title: `Clocks held down: ${reason.replaceAll("_", " ")}`,
  unit: "ratio",
  better: "lower",
  as: "difference",
  needs: [],
  sampled: { column: throttleColumn + reason, across: "mean" },
});
