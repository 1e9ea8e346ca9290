/**
 * A history that also hands on everything it has accepted: a sink has it in its spool in the same turn in which the sender is
 * answered, so that a kill loses nothing. What the history refuses is not handed on.
 */
import type { SampleBatch } from "../formats/samples/batch.ts";
import { FrameSamples } from "../formats/samples/from-frame.ts";
import { LayoutMetadata } from "../formats/samples/frame-metadata.ts";
import type { History } from "../storage/history.ts";
import type { LabelSet } from "../model/labels.ts";
import type { Delivery, Sink } from "../pipeline/sink.ts";
import type { QueryOptions } from "../query/engine.ts";
import type { QueryResult } from "../query/result.ts";
import type { FrameOrigin } from "../storage/embedded/frames.ts";
import type { AppendResult } from "../storage/embedded/options.ts";
import type { Matcher, SelectBudget, SelectedSeries } from "../model/select.ts";

type Sets = readonly (readonly Matcher[])[];

export class ForwardingHistory implements History {
  readonly place: string;
  readonly #history: History;
  readonly #sinks: readonly Sink[];
  readonly #frames = new FrameSamples();
  readonly #layouts = new LayoutMetadata();

  /** Sinks that take no samples are passed over. They are closed by whoever opened them. */
  constructor(history: History, sinks: readonly Sink[]) {
    this.place = history.place;
    this.#history = history;
    this.#sinks = sinks;
  }

  async write(batch: SampleBatch, client?: string): Promise<AppendResult> {
    const result = await this.#history.write(batch, client);
    if (isAccepted(result) || batch.metadata.length > 0) this.#hand(batch);
    return result;
  }

  async frames(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult> {
    const result = await this.#history.frames(origin, extra, client);
    const { batch } = this.#frames.take(origin, extra);
    if (!isAccepted(result)) return result;
    const others = isDelivery(origin) ? this.#relay(origin, extra) : this.#sinks;
    if (others.length > 0) this.#hand(this.#layouts.with(batch, origin.frame), others);
    return result;
  }

  async ended(source: string, timeMs: number): Promise<void> {
    await this.#history.ended(source, timeMs);
    for (const sink of this.#sinks) sink.relayEnd?.(source, timeMs);
    this.#hand(this.#frames.end(source, timeMs).batch);
  }

  instant(query: string, timeMs: number, options?: QueryOptions): Promise<QueryResult> {
    return this.#history.instant(query, timeMs, options);
  }

  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options?: QueryOptions,
  ): Promise<QueryResult> {
    return this.#history.range(query, startMs, endMs, stepMs, options);
  }

  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
  ): Promise<readonly SelectedSeries[]> {
    return this.#history.select(matchers, fromMs, toMs, signal, budget);
  }

  labelNames(sets: Sets, fromMs: number, toMs: number): Promise<readonly string[]> {
    return this.#history.labelNames(sets, fromMs, toMs);
  }

  labelValues(
    name: string,
    sets: Sets,
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly string[]> {
    return this.#history.labelValues(name, sets, fromMs, toMs, budget);
  }

  series(
    sets: Sets,
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly LabelSet[]> {
    return this.#history.series(sets, fromMs, toMs, budget);
  }

  close(): Promise<void> {
    return this.#history.close();
  }

  /** To those that take it as it is; the others get it as samples. */
  #relay(delivery: Delivery, extra: LabelSet): readonly Sink[] {
    return this.#sinks.filter((sink) => {
      sink.relay?.(delivery, extra);
      return sink.relay === undefined;
    });
  }

  #hand(batch: SampleBatch, sinks = this.#sinks): void {
    for (const sink of sinks) sink.samples?.(batch);
  }
}

/** Whoever keeps a frame with everything that is known of it lets it be relayed whole. */
const isDelivery = (origin: FrameOrigin): origin is Delivery =>
  "freshForMs" in origin && "devices" in origin;

/** Duplicates count: the sender may repeat what a kill kept from the spool. */
const isAccepted = ({ stored, duplicates }: AppendResult): boolean => stored + duplicates > 0;
