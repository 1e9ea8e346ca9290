/**
 * Records GPUs at full rate during a run: polls the sources on their schedules and writes every frame to the trace and to disk.
 */
import { within } from "../../base/retry.ts";
import type { Log } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { AssumedPrecision } from "../../model/gpu-rates.ts";
import type { Clock } from "../../base/clock.ts";
import { freshForMs, Poller, refreshAll } from "../../pipeline/poller.ts";
import { newSourceState, type SourceState } from "../../pipeline/source-state.ts";
import type { Transform } from "../../pipeline/sink.ts";
import { createActivity } from "../../pipeline/transforms/activity.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import type { OpenSource } from "../../sources/open.ts";
import type { RunTrace } from "../run.ts";
import type { PartialRun } from "./partial.ts";
import type { ProcessWatch } from "./processes.ts";
import { TraceLayoutPlans, TraceBuilder, valueIn } from "./trace-builder.ts";
import type { WorkCounter } from "./work-counter.ts";

export interface RecorderOptions {
  readonly sources: readonly OpenSource[];
  readonly uuids: readonly string[];
  readonly host: string;
  readonly samplingMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly partial?: PartialRun;
  readonly processes?: ProcessWatch;
  readonly work?: WorkCounter;
  /** The precision that FLOP/s estimates assume. */
  readonly precision?: AssumedPrecision;
}

/** Shorter than an agent's window: a run of a few seconds gets its own value, without the idle time around it. */
const boundWindowMs = 5_000;

const flushEveryMs = 1_000;
/** Energy counters and processes: often enough to find a foreign process that runs for two seconds. */
const slowEveryMs = 1_000;
const staticEveryMs = 60_000;

export class Recorder {
  readonly latest = new LatestFrames();
  readonly #options: RecorderOptions;
  readonly #builder = new TraceBuilder();
  readonly #plans: TraceLayoutPlans;
  readonly #derive = createDerive();
  readonly #activity: Transform;
  readonly #pollers: Poller[] = [];
  readonly #states: SourceState[] = [];
  #fastFrames: number[] = [];
  #closed = false;
  #stopFlushing: () => void = () => {};

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#plans = new TraceLayoutPlans(options.uuids);
    this.#activity = createActivity({
      windowMs: boundWindowMs,
      ...(options.precision === undefined ? {} : { precision: options.precision }),
    });
  }

  /** Resolves when every tier has been read once, or at the deadline: a hanging source must not delay the command. */
  async start(deadlineMs: number): Promise<void> {
    const { sources, clock, log, samplingMs, host } = this.#options;
    const intervalsMs: Record<Tier, number> = {
      fast: samplingMs,
      slow: Math.max(samplingMs, slowEveryMs),
      static: staticEveryMs,
    };
    for (const { name, source } of sources) {
      if (source.shape !== "polled") throw new Error(`BUG: ${name} is a stream, and a run is live`);
      const state = newSourceState(name, source.tiers);
      const poller = new Poller(source, state, {
        intervalsMs,
        deadlineMs: 2_000,
        host,
        clock,
        log,
        deliver: (frame, tier, durationMs) => {
          const derived = this.#derive({
            frame,
            source: name,
            tier,
            freshForMs: freshForMs(Math.max(intervalsMs[tier], durationMs)),
            devices: source.devices(),
          });
          const delivery = this.#activity(derived);
          this.latest.write(delivery);
          this.#take(delivery.frame, tier);
        },
      });
      this.#states.push(state);
      this.#pollers.push(poller);
      poller.start();
    }
    const flush = (): void => {
      this.#options.partial?.flush();
      this.#stopFlushing = clock.after(flushEveryMs, flush);
    };
    flush();
    await this.refresh(deadlineMs);
  }

  /** Reads every tier now; resolves when all have been read, or at the deadline. */
  refresh(deadlineMs: number): Promise<void> {
    return refreshAll(this.#pollers, this.#options.clock, deadlineMs);
  }

  #take(frame: Frame, tier: Tier): void {
    const { partial, processes, work } = this.#options;
    for (const { uuid, slots, columns } of this.#plans.of(frame.layout)) {
      const value = (at: number): number => valueIn(frame, slots[at] ?? -1);
      this.#builder.add(uuid, frame.timeMs, columns, value);
      partial?.row(uuid, frame.timeMs, columns, value);
    }
    if (tier === "slow") processes?.see(frame);
    work?.see(frame);
    if (tier !== "fast") return;
    this.#fastFrames.push(frame.timeMs);
  }

  /** The number of instants between the two times with a reading. */
  samplesBetween(fromMs: number, toMs: number): number {
    return new Set(this.#fastFrames.filter((ms) => ms >= fromMs && ms <= toMs)).size;
  }

  /** Sentences about sources that could not be read. */
  problems(): string[] {
    return this.#states.flatMap((state) => [
      ...(state.hungSinceMs === undefined ? [] : [`The source ${state.name} stopped answering.`]),
      ...[...state.tiers.values()].flatMap(({ problem, tier }) =>
        problem === undefined ? [] : [`The ${tier} readings of ${state.name} failed: ${problem}.`],
      ),
    ]);
  }

  trace(): RunTrace {
    return this.#builder.build();
  }

  /** Stops reading; the sources stay open. */
  pause(): void {
    this.#stopFlushing();
    for (const poller of this.#pollers.splice(0)) poller.stop();
  }

  async stop(): Promise<void> {
    this.pause();
    if (this.#closed) return;
    this.#closed = true;
    const { sources, clock } = this.#options;
    await within(
      Promise.allSettled(sources.map(async ({ source }) => source.close())),
      2_000,
      clock,
    );
  }
}
