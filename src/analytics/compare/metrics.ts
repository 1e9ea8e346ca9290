/** Everything that is compared, one entry a metric: what it is called, where it comes from, and which way is better. A table. */
import type { Unit } from "../../model/catalogue/entry.ts";

export type CompareUnit = Unit | "work_per_second" | "work_per_second_watt" | "work_per_joule";

export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly unit: CompareUnit;
  /** Undefined where neither is: a cooler card is not better when it did less. */
  readonly better?: "higher" | "lower";
  /** Differences are tested and told as a ratio, or as they are. A percent of a degree or of a percent means nothing. */
  readonly as: "ratio" | "difference";
  /** What it stands on: where that is not alike, it is not compared. */
  readonly needs: readonly ("power" | "work")[];
  readonly sampled?: Sampled;
}

export interface Sampled {
  /** A column of the lake; `power` is the one the kind of power says. */
  readonly column: string;
  /** Makes one number of the GPUs of a run. */
  readonly across: "sum" | "mean" | "max";
}

export const throttleColumn = "gpu_throttle_active_";

const sampled = (
  key: string,
  title: string,
  unit: Unit,
  column: string,
  across: Sampled["across"],
  more: Partial<Metric> = {},
): Metric => ({
  key,
  title,
  unit,
  as: unit === "celsius" || unit === "ratio" || unit === "watts" ? "difference" : "ratio",
  needs: [],
  sampled: { column, across },
  ...more,
});

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
  sampled("power", "Power", "watts", "power", "sum", { better: "lower", needs: ["power"] }),
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
  sampled("utilization", "Utilisation", "ratio", "gpu_utilization_ratio", "mean"),
  sampled("edge", "Temperature, edge", "celsius", "gpu_temperature_celsius_edge", "max"),
  sampled("hotspot", "Temperature, hotspot", "celsius", "gpu_temperature_celsius_hotspot", "max"),
  sampled(
    "memoryTemperature",
    "Temperature, memory",
    "celsius",
    "gpu_temperature_celsius_memory",
    "max",
  ),
  { key: "rise", title: "Temperature over idle", unit: "celsius", as: "difference", needs: [] },
  sampled("clock", "Graphics clock", "hertz", "gpu_clock_hertz_graphics", "mean"),
  sampled("memoryClock", "Memory clock", "hertz", "gpu_clock_hertz_memory", "mean"),
  sampled("memory", "Memory used", "bytes", "gpu_memory_used_bytes", "sum"),
  sampled("fan", "Fans", "ratio", "gpu_fan_speed_ratio_1", "mean"),
];

/** Share of time in which clocks were held down for a reason. */
export const throttleMetric = (reason: string): Metric =>
  sampled(
    `throttle.${reason}`,
    `Clocks held down: ${reason.replaceAll("_", " ")}`,
    "ratio",
    throttleColumn + reason,
    "mean",
    { better: "lower" },
  );
