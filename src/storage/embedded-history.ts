/** The history in the embedded store, asked through our own engine. */
import type { SampleBatch } from "../formats/samples/batch.ts";
import { readLabelBlock } from "../formats/samples/labels.ts";
import type { LabelSet } from "../model/labels.ts";
import type { Engine, QueryOptions } from "../query/engine.ts";
import type { QueryResult } from "../query/result.ts";
import type { Appender } from "./embedded/append.ts";
import type { FrameOrigin } from "./embedded/frames.ts";
import type { AppendResult } from "./embedded/options.ts";
import type { Matcher, SelectBudget, SelectedSeries } from "../model/select.ts";
import type { Store } from "./embedded/store.ts";
import type { History } from "./history.ts";

type Sets = readonly (readonly Matcher[])[];

export class EmbeddedHistory implements History {
  readonly place: string;
  readonly store: Store;
  readonly #engine: Engine;
  readonly #appender: Appender;

  constructor(store: Store, engine: Engine, place: string) {
    this.store = store;
    this.place = place;
    this.#engine = engine;
    this.#appender = store.appender();
  }

  async write(batch: SampleBatch, client?: string): Promise<AppendResult> {
    this.#appender.client = client;
    const result = append(this.#appender, batch);
    await this.store.durable();
    return result;
  }

  async frames(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult> {
    const result = this.store.frames(origin, extra, client);
    await this.store.durable();
    return result;
  }

  async ended(source: string, timeMs: number): Promise<void> {
    this.store.endFrames(source, timeMs);
    await this.store.durable();
  }

  instant(query: string, timeMs: number, options?: QueryOptions): Promise<QueryResult> {
    return this.#engine.instant(query, timeMs, this.store, options);
  }

  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options?: QueryOptions,
  ): Promise<QueryResult> {
    return this.#engine.range(query, startMs, endMs, stepMs, this.store, options);
  }

  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
  ): Promise<readonly SelectedSeries[]> {
    return this.store.select(matchers, fromMs, toMs, signal, budget);
  }

  labelNames(sets: Sets, fromMs: number, toMs: number): Promise<readonly string[]> {
    return this.store.labelNames(sets, fromMs, toMs);
  }

  labelValues(
    name: string,
    sets: Sets,
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly string[]> {
    return this.store.labelValues(name, sets, fromMs, toMs, budget);
  }

  series(
    sets: Sets,
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly LabelSet[]> {
    return this.store.series(sets, fromMs, toMs, budget);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** Looks every series up and commits in one turn, as the store asks. */
function append(appender: Appender, batch: SampleBatch): AppendResult {
  const { bytes, labelStarts, labelEnds, seriesCount, sampleCount, sampleSeries, times, values } =
    batch;
  appender.discard();
  const refs = new Uint32Array(seriesCount);
  for (let series = 0; series < seriesCount; series++) {
    const start = labelStarts[series] ?? 0;
    const end = labelEnds[series] ?? 0;
    refs[series] = appender.rawRef(bytes, start, end, readLabelBlock);
  }
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let sample = 0; sample < sampleCount; sample++) {
    appender.addBits(
      refs[sampleSeries[sample] ?? 0] ?? 0,
      times[sample] ?? 0,
      words[sample * 2] ?? 0,
      words[sample * 2 + 1] ?? 0,
    );
  }
  return appender.commit();
}
