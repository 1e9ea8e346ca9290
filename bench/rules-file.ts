/** The rules and series of the rules benchmark: 5,000 alerting rules, each over the whole fleet or over one of its hosts. */
import { type LabelSet, labelSet } from "../src/model/labels.ts";

export type RuleScope = "fleet" | "host";

export const gpus = 2_000;
const gpusPerHost = 8;
const hosts = gpus / gpusPerHost;
const rulesPerGroup = 100;

const metrics = [
  "gpu_temperature_celsius",
  "gpu_power_watts",
  "gpu_utilization_ratio",
  "gpu_memory_used_ratio",
  "gpu_energy_joules_total",
] as const;

export const series: readonly LabelSet[] = metrics.flatMap((name) =>
  Array.from({ length: gpus }, (_, gpu) => {
    const host = `node-${Math.floor(gpu / gpusPerHost)}`;
    return labelSet({
      __name__: name,
      job: "gpulse",
      instance: `${host}:9400`,
      host,
      gpu: String(gpu % gpusPerHost),
      uuid: `GPU-${String(gpu).padStart(8, "0")}`,
    });
  }),
);

/** The value of one series at this step: it varies a little, and one GPU of a thousand has a permanent problem. */
export function valueAt(index: number, step: number): number {
  const [metric, gpu] = [Math.floor(index / gpus), index % gpus];
  const troubled = gpu % 1_000 === 999;
  const little = ((gpu * 13 + step * 7) % 17) / 17;
  switch (metric) {
    case 0:
      return (troubled ? 90 : 60) + little;
    case 1:
      return (troubled ? 500 : 250) + 10 * little;
    case 2:
      return troubled ? little / 100 : 0.5 + little / 10;
    case 3:
      return troubled ? 0.95 : 0.4 + little / 10;
    default:
      return step * 15 * (troubled ? 500 : 250);
  }
}

/** No two rules have the same threshold. */
function expr(rule: number, scope: RuleScope): string {
  const on = scope === "host" ? `{host="node-${rule % hosts}"}` : "";
  const tiny = rule / 100_000;
  switch (rule % 5) {
    case 0:
      return `gpu_temperature_celsius${on} > ${80 + tiny}`;
    case 1:
      return `avg_over_time(gpu_power_watts${on}[5m]) > ${400 + tiny}`;
    case 2:
      return `gpu_utilization_ratio${on} < ${0.02 + tiny} and on (uuid) gpu_memory_used_ratio${on} > 0.9`;
    case 3:
      return `max by (host) (gpu_temperature_celsius${on}) > ${80 + tiny}`;
    default:
      return `rate(gpu_energy_joules_total${on}[5m]) > ${400 + tiny}`;
  }
}

/** JSON is valid YAML. */
export function ruleFile(rules: number, scope: RuleScope, intervalSeconds: number): string {
  const groups = Array.from({ length: Math.ceil(rules / rulesPerGroup) }, (_, group) => ({
    name: `group-${group}`,
    interval: `${intervalSeconds}s`,
    rules: Array.from(
      { length: Math.min(rulesPerGroup, rules - group * rulesPerGroup) },
      (__, at) => ({
        alert: `Alert${group * rulesPerGroup + at}`,
        expr: expr(group * rulesPerGroup + at, scope),
        for: "10m",
        labels: { severity: "warning" },
        annotations: {
          summary: "GPU {{ $labels.gpu }} of {{ $labels.host }} is at {{ $value | humanize }}",
        },
      }),
    ),
  }));
  return JSON.stringify({ groups });
}
