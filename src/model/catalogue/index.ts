/** The metric catalogue: the one place that names a metric. */
import type { MetricEntry } from "./entry.ts";
import { gpu } from "./gpu.ts";
import { gpuz } from "./gpuz.ts";
import { host } from "./host.ts";
import { self } from "./self.ts";
import { ml } from "./workload.ts";

export type { LabelSpec, MetricEntry, MetricKind, Tier, Unit, VendorSource } from "./entry.ts";
export { tiers } from "./entry.ts";
export { gpu, gpuz, host, ml, self };

export const catalogue: readonly MetricEntry[] = [
  ...Object.values(gpu),
  ...Object.values(gpuz),
  ...Object.values(host),
  ...Object.values(ml),
  ...Object.values(self),
];

/** Labels of every series of a subject, in addition to the entry's own labels. `job` and `instance` are added by the collector. */
export const identityLabels: Readonly<Record<MetricEntry["subject"], readonly string[]>> = {
  device: ["uuid", "gpu", "host"],
  host: ["host"],
  workload: ["host"],
  self: [],
};

const byName = new Map(catalogue.map((metric) => [metric.name, metric]));

export function findMetric(name: string): MetricEntry | undefined {
  return byName.get(name);
}
