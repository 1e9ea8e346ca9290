/**
 * How samples are selected: matchers in, columns out. The one seam between storage and evaluation of
 * PromQL over them; nothing here knows a storage format.
 */
import type { Histogram } from "./histogram/histogram.ts";
import type { LabelSet } from "./labels.ts";

export interface Matcher {
  readonly name: string;
  readonly op: "=" | "!=" | "=~" | "!~";
  /** For =~ and !~ a regular expression in RE2 syntax, fully anchored. */
  readonly value: string;
}

/** Label values that are one of these. */
export const anyOf = (name: string, values: readonly string[]): Matcher => ({
  name,
  op: "=~",
  value: values.map((value) => value.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join("|"),
});

/** The samples of one series, oldest first, no time twice. All arrays have the same length. */
export interface SampleColumn {
  /** Milliseconds since the epoch. Series scraped together share one array, so that equal instants are found by identity. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** 1 where the series ended (a stale marker); absent where it never did. The value there means nothing. */
  readonly stale?: Uint8Array;
  /** Where entries stand for several samples each: what the function of the selection's hint needs of them. */
  readonly rollup?: RollupParts;
  /** Native histograms: where there is one it is the sample, and the value means nothing. Absent where all are floats. */
  readonly histograms?: readonly (Histogram | undefined)[];
}

/** Parallel to the column, in which `values` is the part that the function names: minima for a minimum, sums for an average. */
export interface RollupParts {
  /** Samples that each entry stands for; 1 for a sample itself. */
  readonly counts: Float64Array;
  /** For a function of first and last samples; the column's times and values are those of the last ones. */
  readonly firsts?: {
    readonly times: Float64Array;
    readonly values: Float64Array;
    /** Values right before a counter reset within an entry, added up. */
    readonly resets: Float64Array;
  };
}

/** Functions of ranges that can be answered from rollups. */
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

/** What a selection is for: lets a store answer from rollups where the result is the same. */
export interface SelectHint {
  readonly function: RollupFunction;
  /** Windows are (end - rangeMs, end] for the ends firstEndMs, firstEndMs + stepMs, …; stepMs is 0 where there is one. */
  readonly firstEndMs: number;
  readonly stepMs: number;
  readonly rangeMs: number;
}

export interface SelectedSeries {
  /** Sorted by name; the metric's name is the label `__name__`. */
  readonly labels: LabelSet;
  /** In memory of its own. May be decoded each time it is asked for: ask once. */
  readonly column: SampleColumn;
  /** Without a copy: the values are valid until the next peek at any series, or the next await. */
  peek?(): SampleColumn;
}

/** What a selection found. */
export type Selection = readonly SelectedSeries[] & {
  /** A sentence for each part of the store that could not be read. */
  readonly warnings?: readonly string[];
  /** Sentences on where the samples came from, where it is not the raw samples. */
  readonly infos?: readonly string[];
};

/** Counts what a selection is about to hold in memory, and refuses by throwing. */
export interface SelectBudget {
  /** So many series match: label sets and samples of them come next. */
  series(count: number): Promise<void>;
  hold(bytes: number): void;
}

export interface Queryable {
  /** Whether the hint changes what a selection of this range reads. One that does not is left out: then equal selections are shared. */
  heeds?(hint: SelectHint, fromMs: number, toMs: number): boolean;
  /** Every series that matches all matchers and has a sample with fromMs <= time <= toMs, with those samples, or rollups of them. */
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
    hint?: SelectHint,
  ): Promise<Selection>;
  /** Label names of the series that match any of the sets (all series for none) and have samples in the range. */
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
  /** Label sets alone, without samples. */
  series(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly LabelSet[]>;
}
