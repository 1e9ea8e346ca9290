/** The queries of the page. Every figure is PromQL with the same result in Explore. Pure. */
import type { ColourFamily } from "../../chart/model.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { type HourMean, hourMeanQuery } from "../../../../src/view/range-statistics.ts";

/** Per hour; `$` is the selector, and `mean()` the mean of each series over the hour. */
export const hourly = {
  utilization: "avg(mean(gpu_utilization_ratio$))",
  power: "sum(mean(gpu_power_watts$))",
  temperature: "max(max_over_time(gpu_temperature_celsius$[1h]))",
  memory: "avg(mean(gpu_memory_used_ratio$))",
  // Without an energy counter, the integral of power: a reading is valid until the next, for at most the look-back of 5 minutes.
  energy:
    "sum(increase(gpu_energy_joules_total$[1h]) or on (host, uuid) increase(gpu_energy_integrated_joules_total$[1h]) or on (host, uuid) (sum_over_time(gpu_power_watts$[1h:2m]) * 120))",
  gpus: "count(count by (host, uuid) (count_over_time(gpu_up$[1h])))",
} as const;
export type HourlyKey = keyof typeof hourly;

export const hourlyQuery = (key: HourlyKey, scope: string, mean: HourMean): string =>
  hourly[key]
    .replace(/mean\(([^)]*)\)/, (_, selector: string) => hourMeanQuery(selector, mean))
    .replaceAll("$", selectorOf(scope));

export const patterns = [
  { key: "utilization", label: "Utilisation", unit: "ratio", family: "utilization" },
  { key: "power", label: "Power", unit: "watts", family: "power" },
  { key: "temperature", label: "Hottest", unit: "celsius", family: "temperature" },
  { key: "memory", label: "Memory", unit: "ratio", family: "memory" },
] as const satisfies readonly { key: HourlyKey; label: string; unit: Unit; family: ColourFamily }[];

/** Readings to correlate, each as the mean over the GPUs in scope. */
export const correlated: readonly {
  readonly key: string;
  readonly label: string;
  readonly metric: string;
  readonly matcher?: string;
}[] = [
  { key: "utilization", label: "utilisation", metric: "gpu_utilization_ratio" },
  { key: "memory", label: "memory used", metric: "gpu_memory_used_bytes" },
  { key: "traffic", label: "memory controller", metric: "gpu_memory_controller_utilization_ratio" },
  { key: "power", label: "power", metric: "gpu_power_watts" },
  {
    key: "edge",
    label: "edge temperature",
    metric: "gpu_temperature_celsius",
    matcher: 'sensor="edge"',
  },
  {
    key: "hotspot",
    label: "hotspot",
    metric: "gpu_temperature_celsius",
    matcher: 'sensor="hotspot"',
  },
  {
    key: "clock",
    label: "graphics clock",
    metric: "gpu_clock_hertz",
    matcher: 'domain="graphics"',
  },
  { key: "fan", label: "fans", metric: "gpu_fan_speed_ratio" },
];

export const correlatedQuery = (
  { metric, matcher }: (typeof correlated)[number],
  scope: string,
): string => `avg(avg_over_time(${metric}${selectorOf(scope, matcher)}[$step]))`;

export const spikeQuery = (scope: string): string =>
  `max by (host, uuid) (max_over_time(gpu_temperature_celsius${selectorOf(scope, 'sensor="edge"')}[$step]))`;

function gpuMatchers(id: string): string {
  const at = id.lastIndexOf("@");
  return at < 0
    ? `uuid=${JSON.stringify(id)}`
    : matchersOf({ uuid: id.slice(0, at), host: id.slice(at + 1) });
}

/** Returns a selector for the scope, with additional matchers. */
export function selectorOf(chosen: string, more = ""): string {
  const [, kind, name = ""] = /^(host|gpu):(.*)$/s.exec(chosen) ?? [];
  const own =
    kind === undefined ? "" : kind === "host" ? `host=${JSON.stringify(name)}` : gpuMatchers(name);
  return `{${[own, more].filter((part) => part !== "").join(",")}}`;
}
