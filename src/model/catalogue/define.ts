/**
 * Builders for catalogue entries: an entry states its name and what differs from the defaults; kind and unit are derived from the
 * name.
 */
import type { LabelSpec, MetricEntry, MetricKind, Tier, Unit, VendorSource } from "./entry.ts";

export interface MetricEntryOptions {
  readonly help: string;
  readonly kind?: MetricKind;
  readonly unit?: Unit;
  readonly tier?: Tier;
  readonly resolution?: number;
  readonly plausible?: readonly [number, number];
  readonly labels?: readonly LabelSpec[];
  readonly given?: Readonly<Partial<Record<VendorSource, string>>>;
  readonly buckets?: readonly number[];
}

/**
 * The maximum of each unit is above what any hardware reaches and below 16 or 32 bits of ones in the drivers' units: 65,535 MHz, mV
 * and rpm, and 4,294,967,295 µW are sentinels.
 */
const unitSuffixes: readonly (readonly [
  suffix: string,
  unit: Unit,
  resolution: number,
  max: number,
])[] = [
  ["_bytes_per_second", "bytes_per_second", 1, 1e13],
  ["_timestamp_seconds", "seconds", 0.001, 1e11],
  ["_ratio", "ratio", 0.0001, 1],
  ["_bytes", "bytes", 1, 1e16],
  ["_celsius", "celsius", 0.1, 200],
  ["_watts", "watts", 0.001, 4_000],
  ["_joules", "joules", 0.001, 1e15],
  ["_hertz", "hertz", 1, 3e10],
  ["_volts", "volts", 0.001, 60],
  ["_rpm", "rpm", 1, 30_000],
  ["_seconds", "seconds", 0.000001, 1e12],
];

export function entry(
  subject: MetricEntry["subject"],
  name: string,
  draft: MetricEntryOptions,
): MetricEntry {
  const base = name.endsWith("_total") ? name.slice(0, -"_total".length) : name;
  const [, unit, resolution, max] = unitSuffixes.find(([suffix]) => base.endsWith(suffix)) ?? [
    "",
    "none",
    name.endsWith("_total") || name.endsWith("_info") ? 1 : 0.001,
    1e15,
  ];
  const kind: MetricKind =
    draft.kind ?? (name.endsWith("_total") ? "counter" : name.endsWith("_info") ? "info" : "gauge");
  return {
    name,
    kind,
    unit: draft.unit ?? unit,
    help: draft.help,
    subject,
    tier: draft.tier ?? (kind === "info" ? "static" : "fast"),
    resolution: draft.resolution ?? resolution,
    plausible: draft.plausible ?? [0, max],
    labels: draft.labels ?? [],
    given: draft.given ?? {},
    ...(draft.buckets === undefined ? {} : { buckets: draft.buckets }),
  };
}
