/** A small history in memory, for rules that are tested and for tests of rules. Samples of a series come in order of time. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { labelKey, type LabelSet, labelValue } from "../../model/labels.ts";
import { staleHigh, staleLow } from "../../model/stale.ts";
import type { Engine, QueryOptions } from "../../query/engine.ts";
import { compareLabels } from "../../query/labels.ts";
import { matchAll } from "../../query/matcher.ts";
import type { QueryResult } from "../../query/result.ts";
import type { SampleColumn, Matcher, Queryable, SelectedSeries } from "../../model/select.ts";

interface RecordedSeries {
  readonly labels: LabelSet;
  readonly times: number[];
  readonly values: number[];
  readonly stale: number[];
  readonly histograms: (Histogram | undefined)[];
}

type Sets = readonly (readonly Matcher[])[];

export class MemoryHistory implements Queryable {
  readonly #engine: Engine;
  readonly #series = new Map<string, RecordedSeries>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  instant(query: string, timeMs: number, options?: QueryOptions): Promise<QueryResult> {
    return this.#engine.instant(query, timeMs, this, options);
  }

  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options?: QueryOptions,
  ): Promise<QueryResult> {
    return this.#engine.range(query, startMs, endMs, stepMs, this, options);
  }

  /** False where another value stands there, or a later one: it is not kept then. */
  append(
    labels: LabelSet,
    timeMs: number,
    value: number,
    stale = false,
    histogram?: Histogram,
  ): boolean {
    const key = labelKey(labels);
    let series = this.#series.get(key);
    if (series === undefined)
      this.#series.set(
        key,
        (series = { labels, times: [], values: [], stale: [], histograms: [] }),
      );
    const last = series.times.length - 1;
    const lastMs = series.times[last] ?? -Infinity;
    if (timeMs === lastMs)
      return Object.is(series.values[last], value) && series.stale[last] === Number(stale);
    if (timeMs < lastMs) return false;
    series.times.push(timeMs);
    series.values.push(value);
    series.stale.push(Number(stale));
    series.histograms.push(histogram);
    return true;
  }

  async write(batch: SampleBatch): Promise<{ readonly refusedConflicts: number }> {
    const words = new Uint32Array(
      batch.values.buffer,
      batch.values.byteOffset,
      batch.values.length * 2,
    );
    const sets = Array.from({ length: batch.seriesCount }, (_, index) =>
      readLabelBlock(batch.bytes, batch.labelStarts[index] ?? 0, batch.labelEnds[index] ?? 0),
    );
    let refusedConflicts = 0;
    for (let at = 0; at < batch.sampleCount; at++) {
      const labels = sets[batch.sampleSeries[at] ?? 0] ?? [];
      const isStale = words[at * 2] === staleLow && words[at * 2 + 1] === staleHigh;
      const value = isStale ? Number.NaN : (batch.values[at] ?? Number.NaN);
      if (!this.append(labels, batch.times[at] ?? 0, value, isStale)) refusedConflicts++;
    }
    return { refusedConflicts };
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

  async labelNames(sets: Sets, fromMs: number, toMs: number): Promise<readonly string[]> {
    const found = await this.series(sets, fromMs, toMs);
    return [...new Set(found.flatMap((labels) => labels.map(([name]) => name)))].sort();
  }

  async labelValues(
    name: string,
    sets: Sets,
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const found = await this.series(sets, fromMs, toMs);
    return [...new Set(found.flatMap((labels) => labelValue(labels, name) ?? []))].sort();
  }

  async series(sets: Sets, fromMs: number, toMs: number): Promise<readonly LabelSet[]> {
    return this.#matching(sets.length === 0 ? [[]] : sets)
      .filter((series) => columnOf(series, fromMs, toMs) !== undefined)
      .map(({ labels }) => labels);
  }

  #matching(sets: Sets): RecordedSeries[] {
    const tests = sets.map((matchers) => matchAll(matchers));
    return [...this.#series.values()]
      .filter(({ labels }) => tests.some((test) => test(labels)))
      .sort((left, right) => compareLabels(left.labels, right.labels));
  }
}

function columnOf(
  { times, values, stale, histograms }: RecordedSeries,
  fromMs: number,
  toMs: number,
): SampleColumn | undefined {
  const start = firstAtOrAfter(times, fromMs);
  const end = firstAtOrAfter(times, toMs + 1);
  if (start >= end) return undefined;
  return {
    times: Float64Array.from(times.slice(start, end)),
    values: Float64Array.from(values.slice(start, end)),
    stale: Uint8Array.from(stale.slice(start, end)),
    ...(histograms.some((one) => one !== undefined) && {
      histograms: histograms.slice(start, end),
    }),
  };
}

function firstAtOrAfter(times: readonly number[], timeMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
