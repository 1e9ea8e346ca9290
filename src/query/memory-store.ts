/** Samples in plain arrays behind the store's interface, without retention. For rule tests, small tools and tests. */
import { withCheckedHint } from "../model/histogram/arithmetic.ts";
import { type Histogram, withoutResetClaim } from "../model/histogram/histogram.ts";
import { labelKey, labelValue, type LabelSet } from "../model/labels.ts";
import type { SampleColumn, Matcher, Queryable, SelectedSeries } from "../model/select.ts";
import { compareLabels } from "./labels.ts";
import { matchAll } from "./matcher.ts";

interface StoredSeries {
  readonly labels: LabelSet;
  /** Ascending. */
  readonly times: number[];
  readonly values: number[];
  readonly stale: number[];
  readonly histograms: (Histogram | undefined)[];
}

type MatcherSets = readonly (readonly Matcher[])[];

export class MemoryStore implements Queryable {
  readonly #series = new Map<string, StoredSeries>();

  /** A sample with the same timestamp is replaced. */
  append(
    labels: LabelSet,
    timeMs: number,
    value: number,
    stale = false,
    histogram?: Histogram,
  ): void {
    const key = labelKey(labels);
    let series = this.#series.get(key);
    if (series === undefined)
      this.#series.set(
        key,
        (series = { labels, times: [], values: [], stale: [], histograms: [] }),
      );
    const at = firstAtOrAfter(series.times, timeMs);
    const replaced = series.times[at] === timeMs ? 1 : 0;
    series.times.splice(at, replaced, timeMs);
    series.values.splice(at, replaced, value);
    series.stale.splice(at, replaced, Number(stale));
    series.histograms.splice(at, replaced, histogram);
  }

  appendHistogram(labels: LabelSet, timeMs: number, histogram: Histogram): void {
    this.append(labels, timeMs, Number.NaN, false, withoutResetClaim(histogram));
  }

  /** The newest sample of a series. */
  protected newest(labels: LabelSet) {
    const series = this.#series.get(labelKey(labels));
    const at = (series?.times.length ?? 0) - 1;
    if (series === undefined || at < 0) return undefined;
    return {
      timeMs: series.times[at] ?? 0,
      value: series.values[at] ?? 0,
      isStale: series.stale[at] === 1,
      histogram: series.histograms[at],
    };
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly SelectedSeries[]> {
    return this.#matching([matchers]).flatMap((series) => {
      const column = columnOf(series, fromMs, toMs);
      return column === undefined ? [] : [{ labels: series.labels, column }];
    });
  }

  async labelNames(sets: MatcherSets, fromMs: number, toMs: number): Promise<readonly string[]> {
    const found = await this.series(sets, fromMs, toMs);
    return [...new Set(found.flatMap((labels) => labels.map(([name]) => name)))].sort();
  }

  async labelValues(
    name: string,
    sets: MatcherSets,
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const found = await this.series(sets, fromMs, toMs);
    return [...new Set(found.flatMap((labels) => labelValue(labels, name) ?? []))].sort();
  }

  async series(sets: MatcherSets, fromMs: number, toMs: number): Promise<readonly LabelSet[]> {
    return this.#matching(sets.length === 0 ? [[]] : sets)
      .filter((series) => columnOf(series, fromMs, toMs) !== undefined)
      .map(({ labels }) => labels);
  }

  #matching(sets: MatcherSets): StoredSeries[] {
    const tests = sets.map((matchers) => matchAll(matchers));
    return [...this.#series.values()]
      .filter(({ labels }) => tests.some((test) => test(labels)))
      .sort((a, b) => compareLabels(a.labels, b.labels));
  }
}

function columnOf(
  { times, values, stale, histograms }: StoredSeries,
  fromMs: number,
  toMs: number,
): SampleColumn | undefined {
  const start = firstAtOrAfter(times, fromMs);
  let end = firstAtOrAfter(times, toMs);
  if (times[end] === toMs) end++;
  if (start >= end) return undefined;
  const [staleIn, histogramsIn] = [stale.slice(start, end), histograms.slice(start, end)];
  return {
    times: Float64Array.from(times.slice(start, end)),
    values: Float64Array.from(values.slice(start, end)),
    ...(staleIn.includes(1) && { stale: Uint8Array.from(staleIn) }),
    ...(histogramsIn.some((one) => one !== undefined) && {
      histograms: histogramsIn.map(
        (one, at) => one && withCheckedHint(one, histograms[start + at - 1]),
      ),
    }),
  };
}

function firstAtOrAfter(times: readonly number[], timeMs: number): number {
  let [low, high] = [0, times.length];
  // Fast path: samples mostly arrive in time order.
  if (timeMs > (times[high - 1] ?? -Infinity)) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
