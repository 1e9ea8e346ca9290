/** The type of a compatibility table: another exporter's names for existing readings. Tables hold no state and read nothing. */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Vendor } from "../../model/vendor.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Conversion } from "./convert.ts";

/** Labels a reading must have; a list accepts any of its values. */
export type Match = Readonly<Record<string, string | readonly string[]>>;

export interface SourceMetric {
  readonly from: MetricEntry;
  readonly match?: Match;
  /** Only values that the device reports, none computed from other readings. */
  readonly reported?: true;
}

/** The owner of the whole GPU. Empty if several share the GPU: a label can name only one of them. */
export interface GpuOwner {
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  readonly container?: string | undefined;
  readonly workload?: string | undefined;
  readonly user?: string | undefined;
}

export interface RowContext {
  readonly device: Device;
  readonly host: string;
  readonly owner: GpuOwner;
  /** Number of whole GPUs of the table's vendor on this page; MIG instances do not count. */
  readonly gpus: number;
  /** A label of the GPU's series of a metric, for values that exist only as a label. */
  readonly labelOf: (metric: MetricEntry, label: string) => string | undefined;
}

export interface ConversionContext extends RowContext {
  /** Time of the newest reading behind the value. */
  readonly timeMs: number;
}

export interface PresentReading {
  readonly value: number;
  readonly labels: LabelSet;
}

/** Combines the readings of one series into one value; never called with an empty list. */
export interface Fold {
  readonly says: string;
  /** True if the result is still correct when some inputs are absent. */
  readonly partial: boolean;
  of(readings: readonly PresentReading[]): number;
}

export interface CompatRow extends SourceMetric {
  readonly name: string;
  readonly kind: "gauge" | "counter";
  /** In the notation of the other exporter. */
  readonly unit: string;
  readonly help: string;
  /** Alternatives, tried in order if the GPU has no series of `from`. */
  readonly otherwise?: readonly SourceMetric[];
  /** Converts to their unit; the units are the same if absent. */
  readonly convert?: Conversion;
  /** Their label, copied from our label of the reading. */
  readonly copy?: Readonly<Record<string, string>>;
  /** Labels with a value of their own, in addition to the table's. */
  readonly labels?: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  /** Combines several readings into one series; if absent, the first reading counts. */
  readonly fold?: Fold;
  /** A second reading of the same GPU that the value depends on; undefined in `apply` if it is absent. */
  readonly second?: SourceMetric & {
    readonly says: string;
    readonly apply: (value: number, second: number | undefined) => number | undefined;
  };
  /** The value for a GPU without such a series, if `given` is 1: there would be a series if there were something to report. */
  readonly whenNone?: { readonly value: number; readonly given: MetricEntry };
  /** One series per host instead of one per GPU. */
  readonly perHost?: boolean;
  /** Only MIG instances have this series. */
  readonly ofInstances?: true;
  /** The difference from the other exporter, for the documentation. */
  readonly note?: string;
}

export interface CompatTable {
  readonly name: string;
  /** The program that defined these names. */
  readonly exporter: string;
  readonly vendor: Vendor;
  /** The table's ordinary rows describe whole GPUs: a MIG instance has only the rows for instances. */
  readonly wholeOnly?: true;
  /** The labels of every series of a GPU. */
  readonly labels: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  /** The labels of a per-host series. */
  readonly hostLabels: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  readonly rows: readonly CompatRow[];
  /** Their metrics that are left out, and why. */
  readonly leftOut: readonly (readonly [names: string, why: string])[];
}

/** Two counters of one quantity: a partial sum is wrong. */
export const sum: Fold = {
  says: "sum",
  partial: false,
  of: (readings) => readings.reduce((total, { value }) => total + value, 0),
};

export const largest: Fold = {
  says: "largest",
  partial: true,
  of: (readings) => readings.reduce((most, { value }) => Math.max(most, value), -Infinity),
};
