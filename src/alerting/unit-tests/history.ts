/**
 * A small in-memory history for rule tests and for tests of the rule engine. A series' samples must be appended in time order.
 */
import { histogramOf, type SampleBatch, wordsOf } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { equalHistograms, type Histogram } from "../../model/histogram/histogram.ts";
import type { LabelSet } from "../../model/labels.ts";
import { staleHigh, staleLow } from "../../model/stale.ts";
import type { Engine, QueryOptions } from "../../query/engine.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import type { QueryResult } from "../../query/result.ts";

export class MemoryHistory extends MemoryStore {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    super();
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

  async write(batch: SampleBatch): Promise<{ readonly refusedConflicts: number }> {
    const words = wordsOf(batch);
    const sets = Array.from({ length: batch.seriesCount }, (_, index) =>
      readLabelBlock(batch.bytes, batch.labelStarts[index] ?? 0, batch.labelEnds[index] ?? 0),
    );
    let refusedConflicts = 0;
    for (let at = 0; at < batch.sampleCount; at++) {
      const labels = sets[batch.sampleSeries[at] ?? 0] ?? [];
      const [low, high] = [words[at * 2] ?? 0, words[at * 2 + 1] ?? 0];
      const isStale = low === staleLow && high === staleHigh;
      const histogram = histogramOf(batch, low, high);
      const value = isStale || histogram ? Number.NaN : (batch.values[at] ?? Number.NaN);
      if (!this.#add(labels, batch.times[at] ?? 0, value, isStale, histogram)) refusedConflicts++;
    }
    return { refusedConflicts };
  }

  /** Returns false, without storing the sample, if the series has a different value at that time or a later sample. */
  #add(
    labels: LabelSet,
    timeMs: number,
    value: number,
    isStale: boolean,
    histogram: Histogram | undefined,
  ): boolean {
    const newest = this.newest(labels);
    if (newest === undefined || timeMs > newest.timeMs) {
      this.append(labels, timeMs, value, isStale, histogram);
      return true;
    }
    if (timeMs < newest.timeMs || isStale !== newest.isStale) return false;
    return histogram === undefined || newest.histogram === undefined
      ? histogram === newest.histogram && Object.is(value, newest.value)
      : equalHistograms(histogram, newest.histogram);
  }
}
