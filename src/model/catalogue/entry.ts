/** The shape of a catalogue entry. Everything that names, formats or documents a metric is derived from entries of this shape. */
import type { Vendor } from "../vendor.ts";

export type MetricKind = "gauge" | "counter" | "histogram" | "info";

/** `none` is a plain number: a state, a generation, a count. The others are the suffix of the name. */
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

/** What a reading costs: fast about a microsecond, slow milliseconds (on its own schedule, off the hot path), static once. */
export const tiers = ["fast", "slow", "static"] as const;
export type Tier = (typeof tiers)[number];

export type VendorSource = Vendor | "gpuz" | "sim";

export interface LabelSpec {
  readonly name: string;
  readonly help: string;
  /** The values a reader may rely on; absent where they come from the device. */
  readonly values?: readonly string[];
}

export interface MetricEntry {
  readonly name: string;
  readonly kind: MetricKind;
  readonly unit: Unit;
  readonly help: string;
  /** What it describes; decides the identity labels: device → uuid, gpu, host; host and workload → host; self → none. */
  readonly subject: "device" | "host" | "workload" | "self";
  readonly tier: Tier;
  /** The smallest step worth keeping; readings are rounded to it, which is what lets a store keep them small. */
  readonly resolution: number;
  /** Readings outside are a broken sensor or a sentinel, and become `failed`. */
  readonly plausible: readonly [min: number, max: number];
  readonly labels: readonly LabelSpec[];
  /** Which call, file or column gives it, per source; absent where the vendor does not report it. */
  readonly given: Readonly<Partial<Record<VendorSource, string>>>;
  /** Upper bounds of a histogram's buckets, without +Inf. */
  readonly buckets?: readonly number[];
}
