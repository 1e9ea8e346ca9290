/** Sources through transforms to sinks. Owns the running of it all; knows nothing of any particular source or sink. */
import type { Log } from "../base/log.ts";
import type { Tier } from "../model/catalogue/index.ts";
import type { Frame } from "../model/frame.ts";
import type { Source } from "../sources/source.ts";
import type { Clock } from "../base/clock.ts";
import { Outlet } from "./outlet.ts";
import { Poller, refreshAll } from "./poller.ts";
import { SourceDownFrames } from "./source-down.ts";
import type { Delivery, Sink } from "./sink.ts";
import { newSourceState, type SourceState, type TierName } from "./source-state.ts";
import { runStream } from "./streamer.ts";
import type { Transform } from "./transforms/transform.ts";

export interface NamedSource {
  readonly name: string;
  readonly source: Source;
}

export interface PipelineOptions {
  readonly sources: readonly NamedSource[];
  readonly transforms: readonly Transform[];
  readonly sinks: readonly Sink[];
  readonly intervalMs: number;
  /** The `host` label of what the pipeline itself says of GPUs. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A one-off job ends with its streams and fails with them; a service starts them again. */
  readonly oneOff?: boolean;
}

/** Frames a sink may be behind before the oldest is lost; a network sink brings its own spool. */
const queueFrames = 256;
const closeGraceMs = 2_000;

/** Three intervals may pass, and never less than five seconds: a late tick is not yet an old value. */
const freshFor = (intervalMs: number): number => Math.max(5_000, 3 * intervalMs);

/** Slow readings cost milliseconds, static ones hardly ever change. */
export function tierIntervals(intervalMs: number): Record<Tier, number> {
  return {
    fast: intervalMs,
    slow: Math.max(intervalMs, 5_000),
    static: Math.max(intervalMs, 60_000),
  };
}

export class Pipeline {
  readonly states: readonly SourceState[];
  readonly outlets: readonly Outlet[];
  readonly #options: PipelineOptions;
  readonly #intervalsMs: Record<Tier, number>;
  readonly #pollers: Poller[] = [];
  readonly #streams: Promise<void>[] = [];
  readonly #abort = new AbortController();

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#intervalsMs = tierIntervals(options.intervalMs);
    this.states = options.sources.map(({ name, source }) =>
      newSourceState(name, source.shape === "polled" ? source.tiers : ["stream"]),
    );
    this.outlets = options.sinks.map((sink) => new Outlet(sink, queueFrames, options.log));
  }

  start(): void {
    const { clock, log, intervalMs } = this.#options;
    this.#options.sources.forEach(({ name, source }, index) => {
      const state = this.states[index];
      if (state === undefined) throw new Error(`BUG: source ${name} has no state`);
      if (source.shape === "polled") {
        const deliver = (frame: Frame, tier: Tier, durationMs: number): void => {
          const delivery = this.#transform(name, source, frame, tier, durationMs);
          for (const outlet of this.outlets) outlet.push(delivery);
        };
        const deadlineMs = Math.min(10_000, Math.max(1_000, 2 * intervalMs));
        const poller = new Poller(source, state, {
          intervalsMs: this.#intervalsMs,
          deadlineMs,
          freshForMs: (tier) => freshFor(this.#intervalsMs[tier]),
          silence: new SourceDownFrames(this.#options.host),
          clock,
          log,
          deliver,
        });
        this.#pollers.push(poller);
        poller.start();
      } else {
        const deliver = async (frame: Frame): Promise<void> => {
          const delivery = this.#transform(name, source, frame, "stream");
          for (const outlet of this.outlets) await outlet.offer(delivery);
        };
        const restart = this.#options.oneOff !== true;
        this.#streams.push(
          runStream(source, state, { clock, log, deliver, restart }, this.#abort.signal),
        );
      }
    });
  }

  /** Reads every tier of every polled source now; returns when all have answered, or at the deadline. */
  refresh(deadlineMs: number): Promise<void> {
    return refreshAll(this.#pollers, this.#options.clock, deadlineMs);
  }

  /** Whether every schedule of every polled source has been read once, well or not. */
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

  /** Stops reading, writes what is on its way, and closes. What hangs is left behind after a grace. */
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

  /** A frame that takes longer to read than its schedule comes at its own pace, and stays fresh until the next can. */
  #transform(name: string, source: Source, frame: Frame, tier: TierName, durationMs = 0): Delivery {
    const intervalMs = tier === "stream" ? this.#options.intervalMs : this.#intervalsMs[tier];
    let delivery: Delivery = {
      frame,
      source: name,
      tier,
      freshForMs: freshFor(Math.max(intervalMs, durationMs)),
      devices: source.devices(),
    };
    for (const transform of this.#options.transforms) delivery = transform(delivery);
    return delivery;
  }

  async #within(work: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#options.clock.after(closeGraceMs, resolve);
      work.then(
        () => (cancel(), resolve()),
        (thrown: unknown) => (cancel(), reject(thrown as Error)),
      );
    });
  }
}
