/** All analyses, in the order of a report. A table: the SQL of each is in sql/NAME.sql. */
import { type Analysis, number, type ResultColumn, text } from "./analysis.ts";
import type { ParameterName } from "./parameters.ts";

const who = [
  text("host", "The machine the GPU is in."),
  number("gpu", "", "Its number on that machine."),
  text("uuid", "Its identity."),
  text("model", "Its name."),
];
const day = text("day", "The day in the requested time zone.");
const samples = number("samples", "", "Rows that were read, duplicates left out.");
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
  summary: `What jobs held, used and wasted, summed up by ${title}.`,
  table: "jobs",
  groupBy,
  reads: ["gpu_seconds", "useful_seconds", "held_idle_seconds", "joules"],
  parameters: ["since", "until", "timezone", ...cost],
  columns: [
    column,
    number("jobs", "", "Jobs that held a GPU."),
    number("gpu_hours", "h", "Hours of GPUs held; each GPU counts."),
    number("useful_hours", "h", "Of these, with work on the GPU."),
    number("held_idle_hours", "h", "Of these, without."),
    number("useful_share", "ratio", "Useful hours, of those whose activity is known."),
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
      number("memory_max_bytes", "bytes", "Most device memory in use."),
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
      number("power_change_watts", "W", "Mean power less that of the day before that was read."),
      number(
        "temperature_change_celsius",
        "°C",
        "Mean temperature less that of the day before that was read.",
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
    summary: "When a GPU works: each hour of the day over all days.",
    reads: [utilization, power, edge],
    parameters: [...always, "idle-below"],
    columns: [
      ...who,
      number("hour", "", "0 to 23, in the requested time zone."),
      samples,
      number("days", "", "Days that have readings of this hour."),
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
      text("began", "First reading that is so much warmer, UTC."),
      text("ended", "Last reading that still is above its window, UTC."),
      ...who,
      text(
        "cause",
        "fan: a fan slowed down. load: power rose. ambient: the machine or its other GPUs got warmer too. unknown: none of these.",
      ),
      number("base_celsius", "°C", "Lowest temperature of the window before."),
      number("peak_celsius", "°C", "Highest temperature of the spike."),
      number("rise_celsius", "°C", "Peak less base."),
      number("power_rise_watts", "W", "Highest power of the spike less the lowest before."),
      number(
        "utilization_rise",
        "ratio",
        "Highest utilization of the spike less the lowest before.",
      ),
      number("fan_fall", "ratio", "By how much of its speed the slowest fan slowed down."),
      number("cpu_rise_celsius", "°C", "By how much the processor got warmer."),
      number(
        "neighbours_rise_celsius",
        "°C",
        "By how much the other GPUs of the machine got warmer.",
      ),
    ],
  },
  {
    name: "correlation",
    title: "What moves together",
    summary:
      "Pearson's and Spearman's coefficients of pairs of metrics, and the lag at which they are strongest.",
    reads: correlatedColumns,
    parameters: [...always, "metrics", "step", "lags", "fewest-steps"],
    columns: [
      ...who,
      text("metric", "A column of the lake."),
      text("other_metric", "Another."),
      number("steps", "", "Steps that have both."),
      number(
        "pearson",
        "",
        "From -1 to 1; absent where one does not change, or too few steps have both.",
      ),
      number(
        "spearman",
        "",
        "The same of their ranks: any steady relation, not only a straight one.",
      ),
      number(
        "best_lag_seconds",
        "s",
        "Where Pearson's is strongest; positive: the other metric follows.",
      ),
      number("best_lag_pearson", "", "Pearson's there."),
    ],
  },
  {
    name: "energy",
    title: "Energy, cost and CO₂",
    summary: "The energy of each day by its power readings, what it costs and emits.",
    reads: [power, "gpu_energy_joules_total"],
    parameters: [...always, "gap", ...cost],
    columns: [
      day,
      ...who,
      samples,
      covered,
      number("energy_kwh", "kWh", "Area under the power readings of the covered hours."),
      number("counter_kwh", "kWh", "What the device's own counter rose by, where it has one."),
      number("power_mean_watts", "W", "Energy over covered hours."),
      number("power_max_watts", "W", "Highest reading."),
      number("cost", "", "Energy times the price; absent without one."),
      number("co2_grams", "g", "Energy times the CO₂ factor; absent without one."),
    ],
  },
  {
    name: "idle",
    title: "Idling and waste",
    summary: "Hours and energy of GPUs that do nothing, also while a program holds their memory.",
    reads: [utilization, power, memory],
    parameters: [...always, "gap", "idle-below", "held-bytes", ...cost],
    columns: [
      ...who,
      samples,
      covered,
      number("idle_hours", "h", "Covered hours below the idle threshold."),
      number("idle_share", "ratio", "Of the covered hours."),
      number("longest_idle_hours", "h", "The longest run of idling."),
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
  jobHours("user", "user_name", text("user", "Who ran them; - where not known.")),
  jobHours("account", "account", text("account", "The scheduler's account; - without one.")),
  jobHours(
    "project",
    "project",
    text("project", "The Kubernetes namespace, else the account; - without either."),
  ),
  jobHours("day", "day", day),
];

const byName = new Map(analyses.map((one) => [one.name, one]));

export const findAnalysis = (name: string): Analysis | undefined => byName.get(name);
