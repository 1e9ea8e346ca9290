/** The shape of a catalogue entry. Everything that names, formats or documents a metric is derived from entries of this shape. */
import type { Vendor } from "../vendor.ts";

export type MetricKind = "gauge" | "counter" | "histogram" | "info";

/** `none` is a plain number, such as a state, a generation or a count. Every other unit is the suffix of the metric's name. */
export const units = [
  "none",
  "ratio",
  "bytes",
  "celsius",
  "watts",
  "joules",
  "hertz",
  "volts",
  "rpm",
  "seconds",
  "bytes_per_second",
] as const;
export type Unit = (typeof units)[number];

/**
 * Cost of a reading: `fast` takes about a microsecond; `slow` takes milliseconds and runs on its own schedule, off the hot path;
 * `static` is read once.
 */
export const tiers = ["fast", "slow", "static"] as const;
export type Tier = (typeof tiers)[number];

export type VendorSource = Vendor | "gpuz" | "sim";

export interface LabelSpec {
  readonly name: string;
  readonly help: string;
  /** All values that the label can have. Absent if the values come from the device. */
  readonly values?: readonly string[];
}

export interface MetricEntry {
  readonly name: string;
  readonly kind: MetricKind;
  readonly unit: Unit;
  readonly help: string;
  /** What the metric describes. Decides the identity labels: device → uuid, gpu, host; host and workload → host; self → none. */
  readonly subject: "device" | "host" | "workload" | "self";
  readonly tier: Tier;
  /** The smallest difference that matters. Readings are rounded to it, so that the store compresses them well. */
  readonly resolution: number;
  /** A reading outside this range comes from a broken sensor or is a sentinel, and becomes `failed`. */
  readonly plausible: readonly [min: number, max: number];
  readonly labels: readonly LabelSpec[];
  /** The call, file or column that the value comes from, per source. Absent if the vendor does not report the metric. */
  readonly given: Readonly<Partial<Record<VendorSource, string>>>;
  /** Upper bounds of a histogram's buckets, without +Inf. */
  readonly buckets?: readonly number[];
}
