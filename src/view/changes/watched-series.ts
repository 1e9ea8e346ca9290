/** Which series "what changed" reads, their display names, and the units of their cells. */
import { ownerOf } from "../../lake/analyses/anomaly/readings.ts";
import { findMetric, gpu } from "../../model/catalogue/index.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";

/** Metrics that duplicate another series or that gpulse derives: listing them would report one change twice. */
const derived = new Set([
  "gpu_memory_free_bytes",
  "gpu_memory_used_ratio",
  "gpu_memory_visible_used_bytes",
  "gpu_temperature_margin_celsius",
  "gpu_temperature_at_load_celsius",
  "gpu_energy_joules_total",
  "gpu_energy_integrated_joules_total",
  "gpu_power_average_watts",
  "gpu_power_instant_watts",
  "gpu_power_tdp_ratio",
  "gpu_clock_mean_hertz",
  "gpu_clock_event_reasons_mask",
  "gpu_throttle_seconds_total",
  "gpu_bound",
  "gpu_awake_ratio",
  "gpu_energy_counter_active",
  "gpu_dram_bytes_per_second_estimate",
  "gpu_tensor_flops_estimate",
  "gpu_interconnect_link_throughput_bytes_per_second",
  "gpu_xid_last_timestamp_seconds",
  "gpu_xid_watched",
  "host_memory_free_bytes",
  "host_memory_used_bytes",
  "host_boot_timestamp_seconds",
]);
const derivedFamily = /^(?:gpu_(?:health|anomaly|check|process|owner)_|host_(?:health|container)_)/;

export type CellMeaning = "gauge" | "counter" | "presence";

export interface WatchedMetric {
  readonly name: string;
  readonly meaning: CellMeaning;
  /** Unit of the readings themselves. */
  readonly unit: string;
  readonly resolution: number;
}

/** Returns undefined for a metric that is not watched. */
export function watchedMetric(name: string): WatchedMetric | undefined {
  if (name === gpu.ownerInfo.name)
    return { name, meaning: "presence", unit: "none", resolution: 1 };
  const known = findMetric(name);
  if (known === undefined || derived.has(name) || derivedFamily.test(name)) return undefined;
  const { kind, unit, resolution, tier } = known;
  if (kind === "info" || kind === "histogram" || (tier === "static" && kind !== "gauge"))
    return undefined;
  return { name, meaning: kind === "counter" ? "counter" : "gauge", unit, resolution };
}

/** Returns the unit of a counter's rate. */
export const rateUnit = (unit: string): string =>
  unit === "joules"
    ? "watts"
    : unit === "bytes"
      ? "bytes_per_second"
      : unit === "seconds"
        ? "ratio"
        : unit;

const identity = new Set(["__name__", "uuid", "gpu", "host", "instance", "job", "model", "vendor"]);

/** Returns the labels besides the identity. Series of two GPUs with equal own labels are compared. */
export const ownLabels = (labels: LabelSet): readonly (readonly [string, string])[] =>
  labels.filter(([name]) => !identity.has(name));

/** Returns a key of the metric and its own labels, the same on every GPU. */
export const seriesKind = (labels: LabelSet): string =>
  JSON.stringify([labelValue(labels, "__name__") ?? "", ...ownLabels(labels)]);

/** Spellings as on the page. */
const spellings: Readonly<Record<string, string>> = {
  cpu: "CPU",
  dram: "DRAM",
  ecc: "ECC",
  gpu: "GPU",
  mig: "MIG",
  ofa: "OFA",
  pcie: "PCIe",
  sm: "SM",
  utilization: "utilisation",
  xid: "Xid",
};

/** For example, `Temperature (edge)` for `gpu_temperature_celsius{sensor="edge"}`. */
export function titleOf(labels: LabelSet): string {
  const name = labelValue(labels, "__name__") ?? "";
  if (name === gpu.ownerInfo.name) return `Job ${ownerOf(labels)}`;
  const unit = findMetric(name)?.unit ?? "none";
  const bare = name
    .replace(/^(?:gpu|host)_/, "")
    .replace(/_total$/, "")
    .replace(new RegExp(`_${unit}$`), "");
  const words = bare.split("_").map((word) => spellings[word] ?? word);
  const text = words.join(" ");
  const values = ownLabels(labels).map(([, value]) => value.replaceAll("_", " "));
  const title = bare === "up" ? "Responds" : text.charAt(0).toUpperCase() + text.slice(1);
  return values.length === 0 ? title : `${title} (${values.join(", ")})`;
}

/** Returns the smallest standard deviation to assume, however little noise the history has: below it a difference is not reported. */
export function sigmaFloor(unit: string, resolution: number, middle: number): number {
  const size = Math.abs(middle);
  switch (unit) {
    case "ratio":
      return 0.02;
    case "celsius":
      return 1;
    case "watts":
      return Math.max(2, 0.01 * size);
    case "hertz":
      return Math.max(10e6, 0.01 * size);
    case "bytes":
      return Math.max(32 * 2 ** 20, 0.01 * size);
    case "bytes_per_second":
      return Math.max(1e6, 0.05 * size);
    case "volts":
      return 0.005;
    case "rpm":
      return Math.max(30, 0.02 * size);
    default:
      return Math.max(resolution / 10, 0.02 * size);
  }
}
