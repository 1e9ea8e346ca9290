/**
 * Selection of samples: matchers in, columns out. The only interface between storage and PromQL evaluation; nothing here depends on
 * a storage format.
 */
import type { Histogram } from "./histogram/histogram.ts";
import type { LabelSet } from "./labels.ts";

export interface Matcher {
  readonly name: string;
  readonly op: "=" | "!=" | "=~" | "!~";
  /** For =~ and !~, a fully anchored regular expression in RE2 syntax. */
  readonly value: string;
}

/** Matches label values that equal one of these. */
export const anyOf = (name: string, values: readonly string[]): Matcher => ({
  name,
  op: "=~",
  value: values.map((value) => value.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join("|"),
});

/** The samples of one series, oldest first, with unique times. All arrays have the same length. */
export interface SampleColumn {
  /** Milliseconds since the epoch. Series that were scraped together share one array, so that equal times are found by identity. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** 1 at a staleness marker, where the value is undefined. Absent if the series has none. */
  readonly stale?: Uint8Array;
  /** Set if entries are rollups of several samples: what the hinted function needs of them. */
  readonly rollup?: RollupParts;
  /** Native histograms. If an entry has one, it is the sample and the float value is undefined. Absent if all samples are floats. */
  readonly histograms?: readonly (Histogram | undefined)[];
}

/** Parallel to the column, whose `values` are the aggregates for the function: minima for a minimum, sums for an average. */
export interface RollupParts {
  /** Number of samples per entry; 1 for a raw sample. */
  readonly counts: Float64Array;
  /** For functions that need first and last samples. The column's times and values are those of the last samples. */
  readonly firsts?: {
    readonly times: Float64Array;
    readonly values: Float64Array;
    /** Sum of the values right before the counter resets within an entry. */
    readonly resets: Float64Array;
  };
}

/** Range functions that can be evaluated on rollups. */
export const rollupFunctions = [
  "min_over_time",
  "max_over_time",
  "sum_over_time",
  "avg_over_time",
  "count_over_time",
  "present_over_time",
  "absent_over_time",
  "first_over_time",
  "last_over_time",
  "ts_of_first_over_time",
  "ts_of_last_over_time",
  "rate",
  "increase",
  "delta",
] as const;
export type RollupFunction = (typeof rollupFunctions)[number];

/** The function that a selection is for, so that a store can return rollups if the result is the same. */
export interface SelectHint {
  readonly function: RollupFunction;
  /** Windows are (end - rangeMs, end] for the ends firstEndMs, firstEndMs + stepMs, …; stepMs is 0 for a single window. */
  readonly firstEndMs: number;
  readonly stepMs: number;
  readonly rangeMs: number;
}

export interface SelectedSeries {
  /** Sorted by name; the metric's name is the label `__name__`. */
  readonly labels: LabelSet;
  /** An owned copy. May be decoded on every access: read it once. */
  readonly column: SampleColumn;
  /** Returns the samples without a copy: valid until the next peek at any series, or the next await. */
  peek?(): SampleColumn;
}

/** The result of a selection. */
export type Selection = readonly SelectedSeries[] & {
  /** One sentence per part of the store that could not be read. */
  readonly warnings?: readonly string[];
  /** Sentences about the origin of the samples, if they are not raw samples. */
  readonly infos?: readonly string[];
};

/** Accounts for the memory that a selection is about to use, and throws if it exceeds the limit. */
export interface SelectBudget {
  /** Called with the number of matching series, before their label sets and samples are loaded. */
  series(count: number): Promise<void>;
  hold(bytes: number): void;
}

export interface Queryable {
  /**
   * True if the hint changes what a selection of this range reads. Callers omit a hint without effect, so that equal selections are
   * shared.
   */
  heeds?(hint: SelectHint, fromMs: number, toMs: number): boolean;
  /**
   * Returns every series that matches all matchers and has a sample with fromMs <= time <= toMs, with those samples or rollups of
   * them.
   */
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
    hint?: SelectHint,
  ): Promise<Selection>;
  /** Returns label names of the series that match any of the sets (all series for none) and have samples in the range. */
  labelNames(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]>;
  labelValues(
    name: string,
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly string[]>;
  /** Returns label sets without samples. */
  series(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly LabelSet[]>;
}
