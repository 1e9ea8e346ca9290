/** All analyses, in the order of a report. A table: the SQL of each is in sql/NAME.sql. */
import { type Analysis, number, type ResultColumn, text } from "./analysis.ts";
import type { ParameterName } from "./parameters.ts";

const who = [
  text("host", "Host of the GPU."),
  number("gpu", "", "Index of the GPU on its host."),
  text("uuid", "UUID of the GPU."),
  text("model", "Its name."),
];
const day = text("day", "Day in the requested time zone.");
const samples = number("samples", "", "Rows read, without duplicates.");
const covered = number(
  "covered_hours",
  "h",
  "Time between readings no further apart than the gap.",
);
const always = ["since", "until", "timezone", "gpu", "host"] as const;
const utilization = "gpu_utilization_ratio";
const power = "gpu_power_watts";
const edge = "gpu_temperature_celsius_edge";
const memory = "gpu_memory_used_bytes";
const fans = [1, 2, 3, 4].flatMap((fan) => [`gpu_fan_rpm_${fan}`, `gpu_fan_speed_ratio_${fan}`]);
const cost = ["price", "co2"] as const satisfies readonly ParameterName[];

/** The columns of correlations if no metrics are requested. */
export const correlatedColumns = [
  utilization,
  "gpu_memory_controller_utilization_ratio",
  memory,
  power,
  edge,
  "gpu_temperature_celsius_hotspot",
  "gpu_clock_hertz_graphics",
  "gpu_fan_speed_ratio_1",
] as const;

const jobHours = (title: string, groupBy: string, column: ResultColumn): Analysis => ({
  name: `jobs_${column.name}`,
  title: `Jobs by ${title}`,
  summary: `GPU time that jobs held, used and wasted, by ${title}.`,
  table: "jobs",
  groupBy,
  reads: ["gpu_seconds", "useful_seconds", "held_idle_seconds", "joules"],
  parameters: ["since", "until", "timezone", ...cost],
  columns: [
    column,
    number("jobs", "", "Jobs that held a GPU."),
    number("gpu_hours", "h", "Hours of GPUs held; each GPU counts."),
    number("useful_hours", "h", "Of these, with work on the GPU."),
    number("held_idle_hours", "h", "Of these, without work on the GPU."),
    number("useful_share", "ratio", "Share of useful hours among those with known activity."),
    number("energy_kwh", "kWh", "Energy assigned to the jobs."),
    number("cost", "", "Energy times the price; absent without one."),
    number("co2_grams", "g", "Energy times the CO₂ factor; absent without one."),
  ],
});

export const analyses: readonly Analysis[] = [
  {
    name: "daily",
    title: "Day by day",
    summary: "Means, quantiles and peaks of each day, and how they change.",
    reads: [utilization, memory, power, edge, "gpu_temperature_celsius_hotspot"],
    parameters: [...always, "gap"],
    columns: [
      day,
      ...who,
      samples,
      covered,
      number("utilization_mean", "ratio", "Mean utilization."),
      number("utilization_p95", "ratio", "Utilization that 95 % of readings do not exceed."),
      number("memory_mean_bytes", "bytes", "Mean device memory in use."),
      number("memory_max_bytes", "bytes", "Highest device memory in use."),
      number("power_mean_watts", "W", "Mean board power."),
      number("power_median_watts", "W", "Median board power."),
      number("power_p95_watts", "W", "Board power that 95 % of readings do not exceed."),
      number("power_max_watts", "W", "Highest board power."),
      number("temperature_mean_celsius", "°C", "Mean edge temperature."),
      number(
        "temperature_p95_celsius",
        "°C",
        "Edge temperature that 95 % of readings do not exceed.",
      ),
      number("temperature_max_celsius", "°C", "Highest edge temperature."),
      number("hotspot_max_celsius", "°C", "Highest hotspot temperature."),
      number("power_change_watts", "W", "Mean power less that of the previous day with readings."),
      number(
        "temperature_change_celsius",
        "°C",
        "Mean temperature less that of the previous day with readings.",
      ),
      number(
        "power_trend_watts_per_day",
        "W/day",
        "Slope of the line through the daily means of the whole range.",
      ),
      number(
        "temperature_trend_celsius_per_day",
        "°C/day",
        "Slope of the line through the daily means of the whole range.",
      ),
    ],
  },
  {
    name: "hourly",
    title: "Hours of the day",
    summary: "Activity by hour of the day, over all days.",
    reads: [utilization, power, edge],
    parameters: [...always, "idle-below"],
    columns: [
      ...who,
      number("hour", "", "0 to 23, in the requested time zone."),
      samples,
      number("days", "", "Days with readings in this hour."),
      number("utilization_mean", "ratio", "Mean utilization."),
      number("utilization_workday_mean", "ratio", "The same, Monday to Friday."),
      number("utilization_weekend_mean", "ratio", "The same, Saturday and Sunday."),
      number("busy_share", "ratio", "Share of readings that are not idle."),
      number("power_mean_watts", "W", "Mean board power."),
      number("power_p95_watts", "W", "Board power that 95 % of readings do not exceed."),
      number("temperature_mean_celsius", "°C", "Mean edge temperature."),
      number(
        "temperature_p95_celsius",
        "°C",
        "Edge temperature that 95 % of readings do not exceed.",
      ),
      number("temperature_max_celsius", "°C", "Highest edge temperature."),
    ],
  },
  {
    name: "spikes",
    title: "Temperature spikes",
    summary: "Sudden rises of temperature, each with its cause.",
    reads: [edge, power, utilization, ...fans, "host_cpu_temperature_celsius_package"],
    parameters: [
      ...always,
      "rise",
      "window",
      "fan-fall",
      "power-rise",
      "power-rise-watts",
      "load-rise",
    ],
    columns: [
      text("began", "First reading above the threshold, UTC."),
      text("ended", "Last reading above the threshold, UTC."),
      ...who,
      text(
        "cause",
        "fan: a fan slowed down. load: power rose. ambient: the machine or its other GPUs got warmer too. unknown: none of these.",
      ),
      number("base_celsius", "°C", "Lowest temperature in the window before."),
      number("peak_celsius", "°C", "Highest temperature of the spike."),
      number("rise_celsius", "°C", "Peak less base."),
      number("power_rise_watts", "W", "Highest power of the spike less the lowest before."),
      number(
        "utilization_rise",
        "ratio",
        "Highest utilization of the spike less the lowest before.",
      ),
      number("fan_fall", "ratio", "Relative loss of speed of the slowest fan."),
      number("cpu_rise_celsius", "°C", "Temperature rise of the processor."),
      number("neighbours_rise_celsius", "°C", "Temperature rise of the other GPUs of the machine."),
    ],
  },
  {
    name: "correlation",
    title: "Correlations",
    summary:
      "Pearson's and Spearman's coefficients of pairs of metrics, and the lag at which they are strongest.",
    reads: correlatedColumns,
    parameters: [...always, "metrics", "step", "lags", "fewest-steps"],
    columns: [
      ...who,
      text("metric", "A column of the lake."),
      text("other_metric", "Another."),
      number("steps", "", "Steps with both metrics."),
      number(
        "pearson",
        "",
        "From -1 to 1; absent if one is constant, or if too few steps have both.",
      ),
      number(
        "spearman",
        "",
        "The coefficient of the ranks: any monotonic relation, not only a linear one.",
      ),
      number(
        "best_lag_seconds",
        "s",
        "Lag at which Pearson's coefficient is strongest; positive: the other metric follows.",
      ),
      number("best_lag_pearson", "", "Pearson's there."),
    ],
  },
  {
    name: "energy",
    title: "Energy, cost and CO₂",
    summary: "Energy of each day from its power readings, with cost and emissions.",
    reads: [power, "gpu_energy_joules_total"],
    parameters: [...always, "gap", ...cost],
    columns: [
      day,
      ...who,
      samples,
      covered,
      number("energy_kwh", "kWh", "Integral of the power readings over the covered hours."),
      number("counter_kwh", "kWh", "Increase of the device's energy counter, if it has one."),
      number("power_mean_watts", "W", "Energy over covered hours."),
      number("power_max_watts", "W", "Highest reading."),
      number("cost", "", "Energy times the price; absent without one."),
      number("co2_grams", "g", "Energy times the CO₂ factor; absent without one."),
    ],
  },
  {
    name: "idle",
    title: "Idle time and waste",
    summary: "Hours and energy of idle GPUs, including those with memory held by a program.",
    reads: [utilization, power, memory],
    parameters: [...always, "gap", "idle-below", "held-bytes", ...cost],
    columns: [
      ...who,
      samples,
      covered,
      number("idle_hours", "h", "Covered hours below the idle threshold."),
      number("idle_share", "ratio", "Share of the covered hours."),
      number("longest_idle_hours", "h", "Longest idle period."),
      number("energy_kwh", "kWh", "Energy of the covered hours."),
      number("idle_kwh", "kWh", "Energy of the idle hours."),
      number("idle_power_mean_watts", "W", "Mean power while idle."),
      number("held_idle_hours", "h", "Idle hours in which a program held the GPU's memory."),
      number("held_idle_kwh", "kWh", "Energy of those hours."),
      number("idle_cost", "", "Idle energy times the price; absent without one."),
      number("idle_co2_grams", "g", "Idle energy times the CO₂ factor; absent without one."),
    ],
  },
  {
    name: "efficiency",
    title: "Thermal efficiency",
    summary:
      "Degrees over ambient per watt under steady load, and how they drift from the first days.",
    reads: [power, edge],
    parameters: [
      ...always,
      "ambient",
      "settle",
      "load-share",
      "baseline-days",
      "drift",
      "fewest-samples",
    ],
    columns: [
      day,
      ...who,
      number("samples", "", "Readings under steady load."),
      number("power_mean_watts", "W", "Mean power of these readings."),
      number("temperature_mean_celsius", "°C", "Mean temperature of these readings."),
      number("celsius_per_watt", "°C/W", "Median of temperature over ambient per watt."),
      number("baseline_celsius_per_watt", "°C/W", "Median of the GPU's first days."),
      number(
        "drift_ratio",
        "ratio",
        "Over the baseline; 0.1: ten per cent hotter for the same power.",
      ),
      number(
        "trend_ratio_per_30_days",
        "ratio",
        "Slope of the line through all days, over the baseline.",
      ),
      text("state", "baseline, steady, worse or better."),
    ],
  },
  jobHours("user", "user_name", text("user", "User of the jobs; - if unknown.")),
  jobHours("account", "account", text("account", "Account of the scheduler; - without one.")),
  jobHours(
    "project",
    "project",
    text("project", "Kubernetes namespace, else the account; - without either."),
  ),
  jobHours("day", "day", day),
];

const byName = new Map(analyses.map((one) => [one.name, one]));

export const findAnalysis = (name: string): Analysis | undefined => byName.get(name);
