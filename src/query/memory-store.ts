/** Samples in plain arrays behind the same seam as the real store. For tests and small tools; it never forgets. */
import type { Histogram } from "../model/histogram/histogram.ts";
import { labelKey, labelValue, type LabelSet } from "../model/labels.ts";
import type { SampleColumn, Matcher, Queryable, SelectedSeries } from "../model/select.ts";
import { compareLabels } from "./labels.ts";
import { matchAll } from "./matcher.ts";

interface StoredSample {
  readonly value: number;
  readonly stale: boolean;
  readonly histogram?: Histogram | undefined;
}

interface StoredSeries {
  readonly labels: LabelSet;
  readonly samples: Map<number, StoredSample>;
}

export class MemoryStore implements Queryable {
  private readonly all = new Map<string, StoredSeries>();

  append(labels: LabelSet, timeMs: number, value: number, stale = false): void {
    this.put(labels, timeMs, { value, stale });
  }

  appendHistogram(labels: LabelSet, timeMs: number, histogram: Histogram): void {
    this.put(labels, timeMs, { value: Number.NaN, stale: false, histogram });
  }

  private put(labels: LabelSet, timeMs: number, sample: StoredSample): void {
    const key = labelKey(labels);
    let series = this.all.get(key);
    if (series === undefined) this.all.set(key, (series = { labels, samples: new Map() }));
    series.samples.set(timeMs, sample);
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly SelectedSeries[]> {
    const out: SelectedSeries[] = [];
    for (const series of this.matching([matchers])) {
      const column = columnOf(series, fromMs, toMs);
      if (column.times.length > 0) out.push({ labels: series.labels, column });
    }
    return out;
  }

  async labelNames(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const labels of await this.series(sets, fromMs, toMs))
      for (const [name] of labels) names.add(name);
    return [...names].sort();
  }

  async labelValues(
    name: string,
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const found = await this.series(sets, fromMs, toMs);
    return [...new Set(found.flatMap((labels) => labelValue(labels, name) ?? []))].sort();
  }

  async series(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly LabelSet[]> {
    return this.matching(sets.length === 0 ? [[]] : sets)
      .filter((series) => columnOf(series, fromMs, toMs).times.length > 0)
      .map(({ labels }) => labels);
  }

  private matching(sets: readonly (readonly Matcher[])[]): StoredSeries[] {
    const tests = sets.map((matchers) => matchAll(matchers));
    return [...this.all.values()]
      .filter(({ labels }) => tests.some((test) => test(labels)))
      .sort((a, b) => compareLabels(a.labels, b.labels));
  }
}

function columnOf({ samples }: StoredSeries, fromMs: number, toMs: number): SampleColumn {
  const inside = [...samples]
    .filter(([timeMs]) => timeMs >= fromMs && timeMs <= toMs)
    .sort(([a], [b]) => a - b);
  const times = Float64Array.from(inside, ([timeMs]) => timeMs);
  const values = Float64Array.from(inside, ([, sample]) => sample.value);
  const isAnyStale = inside.some(([, sample]) => sample.stale);
  const hasHistograms = inside.some(([, sample]) => sample.histogram !== undefined);
  return {
    times,
    values,
    ...(isAnyStale && { stale: Uint8Array.from(inside, ([, { stale }]) => (stale ? 1 : 0)) }),
    ...(hasHistograms && { histograms: inside.map(([, { histogram }]) => histogram) }),
  };
}
