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

/** The samples of one series, oldest first, no time twice. All arrays have the same length. */
export interface SampleColumn {
  /** Milliseconds since the epoch. Series scraped together share one array, so that equal instants are found by identity. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** 1 where the series ended (a stale marker); absent where it never did. The value there means nothing. */
  readonly stale?: Uint8Array;
  /** Native histograms: where there is one it is the sample, and the value means nothing. Absent where all are floats. */
  readonly histograms?: readonly (Histogram | undefined)[];
}

export interface SelectedSeries {
  /** Sorted by name; the metric's name is the label `__name__`. */
  readonly labels: LabelSet;
  /** In memory of its own. May be decoded each time it is asked for: ask once. */
  readonly column: SampleColumn;
  /** Without a copy: the values are valid until the next peek at any series, or the next await. */
  peek?(): SampleColumn;
}

/** What a selection found. `warnings`: a sentence for each part of the store that could not be read. */
export type Selection = readonly SelectedSeries[] & { readonly warnings?: readonly string[] };

/** Counts what a selection is about to hold in memory, and refuses by throwing. */
export interface SelectBudget {
  /** So many series match: label sets and samples of them come next. */
  series(count: number): Promise<void>;
  hold(bytes: number): void;
}

export interface Queryable {
  /** Every series that matches all matchers and has a sample with fromMs <= time <= toMs, with those samples. */
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
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
