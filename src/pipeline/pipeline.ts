/** Runs sources through transforms to sinks; independent of any particular source or sink. */
import type { Log } from "../base/log.ts";
import type { Tier } from "../model/catalogue/index.ts";
import type { Frame } from "../model/frame.ts";
import type { Source } from "../sources/source.ts";
import type { Clock } from "../base/clock.ts";
import { within } from "../base/retry.ts";
import { Outlet } from "./outlet.ts";
import { freshForMs, Poller, pollerOptions, refreshAll, tierIntervals } from "./poller.ts";
import type { Delivery, Sink, Transform } from "./sink.ts";
import { newSourceState, type SourceState, type TierName } from "./source-state.ts";
import { keepStreaming, runStream } from "./streamer.ts";

export interface NamedSource {
  readonly name: string;
  readonly source: Source;
}

export interface PipelineOptions {
  readonly sources: readonly NamedSource[];
  readonly transforms: readonly Transform[];
  readonly sinks: readonly Sink[];
  readonly intervalMs: number;
  /** The `host` label of the frames that the pipeline itself creates. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /** True for a one-off job, which fails when a stream fails; a service restarts the stream. */
  readonly oneOff?: boolean;
}

/** The number of frames a sink may lag before the oldest is dropped. Network sinks have their own spool. */
const queueFrames = 256;
const closeGraceMs = 2_000;

export class Pipeline {
  readonly states: readonly SourceState[];
  readonly outlets: readonly Outlet[];
  readonly #options: PipelineOptions;
  readonly #pollers: Poller[] = [];
  readonly #streams: Promise<void>[] = [];
  readonly #abort = new AbortController();

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.states = options.sources.map(({ name, source }) =>
      newSourceState(name, source.shape === "polled" ? source.tiers : ["stream"]),
    );
    this.outlets = options.sinks.map((sink) => new Outlet(sink, queueFrames, options.log));
  }

  start(): void {
    const { clock, log, oneOff } = this.#options;
    const { signal } = this.#abort;
    this.#options.sources.forEach(({ name, source }, index) => {
      const state = this.states[index];
      if (state === undefined) throw new Error(`BUG: source ${name} has no state`);
      if (source.shape === "polled") {
        const deliver = (frame: Frame, tier: Tier, durationMs: number): void => {
          const delivery = this.#transform(name, source, frame, tier, durationMs);
          for (const outlet of this.outlets) outlet.push(delivery);
        };
        const poller = new Poller(source, state, { ...pollerOptions(this.#options), deliver });
        this.#pollers.push(poller);
        poller.start();
      } else {
        const deliver = async (frame: Frame): Promise<void> => {
          const delivery = this.#transform(name, source, frame, "stream");
          for (const outlet of this.outlets) await outlet.offer(delivery);
        };
        const run = oneOff === true ? runStream : keepStreaming;
        this.#streams.push(run(source, state, { clock, log, deliver, signal }));
      }
    });
  }

  /** Reads every tier of every polled source now; resolves when all have been read, or at the deadline. */
  refresh(deadlineMs: number): Promise<void> {
    return refreshAll(this.#pollers, this.#options.clock, deadlineMs);
  }

  /** True once every tier of every polled source has been read, successfully or not. */
  get hasReadOnce(): boolean {
    return this.states.every(({ tiers }) =>
      [...tiers.values()].every(({ tier, success }) => tier === "stream" || success !== undefined),
    );
  }

  /** Resolves when every stream has ended and its frames are written. */
  async ended(): Promise<void> {
    await Promise.all(this.#streams);
    for (const outlet of this.outlets) await outlet.flush();
  }

  /**
   * Stops reading, writes the queued frames and closes everything. Abandons calls that hang longer than the grace
   * period.
   */
  async stop(): Promise<void> {
    for (const poller of this.#pollers) poller.stop();
    this.#abort.abort();
    await this.#within(Promise.allSettled(this.#streams));
    await this.#within(
      Promise.allSettled(this.#options.sources.map(async ({ source }) => source.close())),
    );
    for (const outlet of this.outlets) {
      await this.#within(outlet.flush());
      await this.#within(outlet.close());
    }
  }

  /** A frame that takes longer to read than its interval stays fresh until the next one can arrive. */
  #transform(name: string, source: Source, frame: Frame, tier: TierName, durationMs = 0): Delivery {
    const { intervalMs: everyMs } = this.#options;
    const intervalMs = tier === "stream" ? everyMs : tierIntervals(everyMs)[tier];
    let delivery: Delivery = {
      frame,
      source: name,
      tier,
      freshForMs: freshForMs(Math.max(intervalMs, durationMs)),
      devices: source.devices(),
    };
    for (const transform of this.#options.transforms) delivery = transform(delivery);
    return delivery;
  }

  #within(work: Promise<unknown>): Promise<void> {
    return within(work, closeGraceMs, this.#options.clock);
  }
}
