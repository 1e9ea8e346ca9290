/** The metrics of a comparison, one entry each: its chart, its query, and how a host's GPUs become one curve. Pure. */
import type { ChartStyle } from "../../chart/model.ts";
import { gpuId } from "../../../../src/view/gpu.ts";
import type { Labels } from "../../query/columns.ts";
import type { CompareSubject } from "./subject.ts";

export interface CompareMetricSpec extends ChartStyle {
  readonly key: string;
  readonly metric: string;
  readonly matcher?: string;
  /** Aggregation of several samples in one point, and of several sensors of a GPU. */
  readonly within: "avg" | "max";
  /** Aggregation of the GPUs of a host. */
  readonly across: "avg" | "max" | "sum";
}

export const compareMetricSpecs: readonly CompareMetricSpec[] = [
  {
    key: "power",
    title: "Power",
    metric: "gpu_power_watts",
    unit: "watts",
    family: "power",
    min: 0,
    within: "avg",
    across: "sum",
  },
  {
    key: "utilization",
    title: "Utilisation",
    metric: "gpu_utilization_ratio",
    unit: "ratio",
    family: "utilization",
    min: 0,
    max: 1,
    within: "avg",
    across: "avg",
  },
  {
    key: "edge",
    title: "Temperature, edge",
    metric: "gpu_temperature_celsius",
    matcher: 'sensor="edge"',
    unit: "celsius",
    family: "temperature",
    within: "max",
    across: "max",
  },
  {
    key: "hotspot",
    title: "Temperature, hotspot",
    metric: "gpu_temperature_celsius",
    matcher: 'sensor="hotspot"',
    unit: "celsius",
    family: "temperature",
    within: "max",
    across: "max",
  },
  {
    key: "clock",
    title: "Graphics clock",
    metric: "gpu_clock_hertz",
    matcher: 'domain="graphics"',
    unit: "hertz",
    family: "clock",
    min: 0,
    within: "avg",
    across: "avg",
  },
  {
    key: "memory",
    title: "Memory used",
    metric: "gpu_memory_used_bytes",
    unit: "bytes",
    family: "memory",
    min: 0,
    within: "avg",
    across: "sum",
  },
  {
    key: "fan",
    title: "Fans",
    metric: "gpu_fan_speed_ratio",
    unit: "ratio",
    family: "fan",
    min: 0,
    max: 1,
    within: "avg",
    across: "avg",
  },
];

/** From this range on a point covers so many samples that they have to be aggregated. */
const CONDENSED_FROM_MS = 3 * 3_600_000;

/** The labels that distinguish subjects of a kind. */
export const labelsOf = (kind: CompareSubject["kind"]): "host, uuid" | "host" =>
  kind === "gpu" ? "host, uuid" : "host";

/** True if a series belongs to the subject; a uuid without a host matches that GPU on any host. */
export const isOf = (
  { kind, name }: Pick<CompareSubject, "kind" | "name">,
  { host = "", uuid = "" }: Labels,
): boolean => (kind === "host" ? host === name : name === uuid || name === gpuId({ host, uuid }));

const uuidIn = (name: string): string => name.replace(/@.*$/s, "");

/** `uuid=~"a|b"`, escaped for a regular expression inside a PromQL string. */
export function matcherOf(kind: CompareSubject["kind"], names: readonly string[]): string {
  const wanted = kind === "gpu" ? names.map(uuidIn) : names;
  const escaped = wanted.map((name) =>
    name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`).replaceAll(/[\\"]/g, String.raw`\$&`),
  );
  return `${kind === "gpu" ? "uuid" : "host"}=~"${escaped.join("|")}"`;
}

/** One curve per GPU or host. A GPU read by two sources counts once. */
export function queryOf(
  { metric, matcher, within, across }: CompareMetricSpec,
  kind: CompareSubject["kind"],
  names: readonly string[],
  rangeMs: number,
): string {
  const series = `${metric}{${[matcherOf(kind, names), matcher].filter((one) => one !== undefined).join(",")}}`;
  const over = rangeMs > CONDENSED_FROM_MS ? `${within}_over_time(${series}[$step])` : series;
  if (kind === "gpu") return `${within} by (host, uuid) (${over})`;
  return `${across} by (host) (${within} by (host, uuid) (${over}))`;
}
