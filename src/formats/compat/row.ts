/** The shape of a compatibility table: another exporter's names for readings we already have. Tables hold no state and read nothing. */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Vendor } from "../../model/vendor.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Conversion } from "./convert.ts";

/** Labels a reading must carry; a list takes any of its values. */
export type Match = Readonly<Record<string, string | readonly string[]>>;

export interface SourceMetric {
  readonly from: MetricEntry;
  readonly match?: Match;
  /** Only what the device reports: a value computed from other readings does not count. */
  readonly reported?: true;
}

/** Who holds the whole GPU. Nobody where several share it: a label can name one, and would name the wrong one. */
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
  /** Whole GPUs of the table's vendor on this page; MIG instances are no GPUs. */
  readonly gpus: number;
  /** A label of the GPU's series of a metric, for values that only a label carries. */
  readonly labelOf: (metric: MetricEntry, label: string) => string | undefined;
}

export interface ConversionContext extends RowContext {
  /** When the newest reading behind the value was made. */
  readonly timeMs: number;
}

export interface PresentReading {
  readonly value: number;
  readonly labels: LabelSet;
}

/** Makes one value of the readings that fall onto one series; never called with none. */
export interface Fold {
  readonly says: string;
  /** Whether the result is still correct if some inputs are absent. */
  readonly partial: boolean;
  of(readings: readonly PresentReading[]): number;
}

export interface CompatRow extends SourceMetric {
  readonly name: string;
  readonly kind: "gauge" | "counter";
  /** As the other exporter gives it. */
  readonly unit: string;
  readonly help: string;
  /** Taken in turn where the GPU has no series of `from`. */
  readonly otherwise?: readonly SourceMetric[];
  /** Their unit; the value is the same in both where absent. */
  readonly convert?: Conversion;
  /** Their label, taken from our label of the reading. */
  readonly copy?: Readonly<Record<string, string>>;
  /** Labels with a value of their own, beside the table's. */
  readonly labels?: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  /** Where several readings make one series; else the first counts. */
  readonly fold?: Fold;
  /** A second reading of the same GPU that the value depends on; undefined in `apply` where it is absent. */
  readonly second?: SourceMetric & {
    readonly says: string;
    readonly apply: (value: number, second: number | undefined) => number | undefined;
  };
  /** The value of a GPU without such a series, where `given` is 1: it would have one if there was something to report. */
  readonly whenNone?: { readonly value: number; readonly given: MetricEntry };
  /** One series for the host instead of one a GPU. */
  readonly perHost?: boolean;
  /** Of MIG instances alone; a whole GPU has no such series. */
  readonly ofInstances?: true;
  /** What differs from the other exporter, for the documentation. */
  readonly note?: string;
}

export interface CompatTable {
  readonly name: string;
  /** The program whose names these are. */
  readonly exporter: string;
  readonly vendor: Vendor;
  /** Their plain names describe whole GPUs: a MIG instance has only the rows that are for instances. */
  readonly wholeOnly?: true;
  /** The labels of every series of a GPU. */
  readonly labels: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  /** The labels of a series that is one for the host. */
  readonly hostLabels: (about: RowContext) => Readonly<Record<string, string | undefined>>;
  readonly rows: readonly CompatRow[];
  /** Their metrics that we leave out, and why. */
  readonly leftOut: readonly (readonly [names: string, why: string])[];
}

/** Two counters of one thing: half a sum is a wrong sum. */
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
