/**
 * Connects any sources to any sinks, at least once. At each checkpoint new frames wait until every sink has stored the
 * earlier ones; only then do the sources commit. A sink that can never store its data ends the pipe.
 */
import { GpulseError, formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { pause, within } from "../../base/retry.ts";
import type { Frame } from "../../model/frame.ts";
import type { StreamFrameInfo, SourceLag, StreamingSource } from "../../sources/source.ts";
import type { Clock } from "../../base/clock.ts";
import type { OutletCounts } from "../outlet.ts";
import type { NamedSource } from "../pipeline.ts";
import type { Delivery, Sink, Transform } from "../sink.ts";
import { newSourceState, type SourceState } from "../source-state.ts";
import { freshForMs } from "../poller.ts";
import { runStream } from "../streamer.ts";
import { DeadLetters, type LetterCounts } from "./dead-letters.ts";
import { Gate } from "./gate.ts";
import { pollInto } from "./polled.ts";

/** Produces additional frames from the ones that pass through, such as windows. */
export interface Companion {
  take(delivery: Delivery): readonly Delivery[];
  /** Returns the remaining frames at the end of the data. */
  end(): readonly Delivery[];
  /** Number of frames that arrived too late to be used. */
  readonly late: number;
}

export interface PipeOptions {
  readonly sources: readonly NamedSource[];
  readonly transforms: readonly Transform[];
  readonly companions?: readonly Companion[];
  readonly sinks: readonly Sink[];
  readonly letters?: DeadLetters;
  readonly intervalMs: number;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * A checkpoint is due after this many frames, or after the longer of `checkpointMs` and the longest roll interval of a
   * sink.
   */
  readonly checkpointFrames: number;
  readonly checkpointMs: number;
  /**
   * Ends as if the data had ended, once no frame arrived for this long, nothing is being stored and no source has unread
   * records.
   */
  readonly idleMs?: number;
  /** Time limit of the last checkpoint after a stop. */
  readonly graceMs: number;
}

/** A `stopped` pipe may lack its last checkpoint; frames since the previous one are then read again. */
export interface PipeEnd {
  readonly why: "ended" | "stopped";
  readonly checkpointed: boolean;
  /** After an idle end: the number of records that arrived since. Absent if no source counts them. */
  readonly unread?: number | undefined;
}

const closeGraceMs = 5_000;
const drainLookMs = 25;
const longestIdleLookMs = 250;

interface SourceCounts {
  frames: number;
  lagSeconds?: number;
}

export class Pipe {
  readonly states: readonly SourceState[];
  readonly letters: DeadLetters;
  readonly outlets: readonly { readonly name: string; readonly counts: OutletCounts }[];
  readonly bySource = new Map<string, SourceCounts>();
  readonly checkpoints = { count: 0, lastMs: undefined as number | undefined, durationSeconds: 0 };
  readonly #options: PipeOptions;
  readonly #gate = new Gate();
  /** Stops the sources. */
  readonly #abort = new AbortController();
  /** Aborts flushing sinks. */
  readonly #giveUp = new AbortController();
  #uncommitted = 0;
  #lastLag: ReturnType<Pipe["lag"]> | undefined;
  /** Number of frames being written to the sinks. */
  #waiting = 0;
  #lettersCommitted = 0;
  #checkpointing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #failure: unknown;
  #fail: (thrown: unknown) => void = () => {};
  #lastFrameMs: number;

  constructor(options: PipeOptions) {
    this.#options = options;
    this.letters = options.letters ?? new DeadLetters(options.sinks, options.log);
    this.outlets = options.sinks.map(({ name }) => ({
      name,
      counts: { frames: 0, dropped: 0, failures: 0 },
    }));
    this.states = options.sources.map(({ name, source }) =>
      newSourceState(name, source.shape === "polled" ? source.tiers : ["stream"]),
    );
    for (const { name } of options.sources) this.bySource.set(name, { frames: 0 });
    this.#lastFrameMs = options.clock.monotonicMs();
    this.letters.onLetter = () => (this.#lastFrameMs = options.clock.monotonicMs());
  }

  get frames(): number {
    let frames = 0;
    for (const counts of this.bySource.values()) frames += counts.frames;
    return frames;
  }

  get uncommitted(): number {
    return this.#uncommitted;
  }

  /** Records that are not yet read and stored, for sources that report it; after the end, as of the end. */
  lag(): readonly (readonly [source: string, lag: SourceLag])[] {
    return this.#lastLag ?? this.#currentLag();
  }

  /** Number of available unread records; undefined if a source cannot tell, or if no source counts them. */
  unread(): number | undefined {
    let sum: number | undefined;
    for (const records of this.#unread()) {
      if (records === undefined) return undefined;
      sum = (sum ?? 0) + records;
    }
    return sum;
  }

  #currentLag(): readonly (readonly [source: string, lag: SourceLag])[] {
    return this.#options.sources.flatMap(({ name, source }) =>
      source.shape === "streaming" ? (source.lag?.() ?? []).map((lag) => [name, lag] as const) : [],
    );
  }

  get deadLetters(): number {
    let total = 0;
    for (const { kept, counted } of this.letterCounts().values()) total += kept + counted;
    return total;
  }

  /** Per source: dead letters that sinks stored, that were only counted, and that the source itself stored. */
  letterCounts(): ReadonlyMap<string, Readonly<LetterCounts>> {
    const counts = new Map(this.letters.counts);
    for (const { name, source } of this.#options.sources) {
      const own = source.shape === "streaming" ? source.lettersKept?.() : undefined;
      if (own === undefined) continue;
      const { kept, counted } = counts.get(name) ?? { kept: 0, counted: 0 };
      counts.set(name, { kept: kept + own, counted });
    }
    return counts;
  }

  get late(): number {
    return (this.#options.companions ?? []).reduce((sum, { late }) => sum + late, 0);
  }

  /**
   * Runs until every stream's data has ended or `stop` aborts. Rejects if a sink can never store some of its data,
   * without committing any of that, or with a stream's own error after its earlier frames are stored. Closes everything.
   */
  async run(stop: AbortSignal): Promise<PipeEnd> {
    const failed = new Promise<"failed">((resolve) => {
      this.#fail = (thrown) => {
        this.#failure ??= thrown;
        resolve("failed");
      };
    });
    const stopped = new Promise<"stopped">((resolve) => {
      if (stop.aborted) resolve("stopped");
      else stop.addEventListener("abort", () => resolve("stopped"), { once: true });
    });
    let problem: unknown;
    this.#tick();
    const streams = this.#start().map((stream) =>
      stream.catch((thrown: unknown) => {
        problem ??= thrown;
        this.#abort.abort();
      }),
    );
    const ended = Promise.all(streams).then(() => "ended" as const);
    const idle = new AbortController();
    const why = await Promise.race([ended, stopped, failed, this.#idle(idle.signal)]);
    idle.abort();
    this.#abort.abort();
    if (why !== "ended") await this.#within(Promise.all(streams), this.#options.graceMs);
    const finished = await this.#finish(why, problem !== undefined, stop);
    const unread = why === "idle" ? this.#unread() : [];
    const end: PipeEnd =
      unread.length === 0
        ? finished
        : { ...finished, unread: unread.reduce((sum: number, one) => sum + (one ?? 0), 0) };
    this.#lastLag = this.#currentLag();
    await this.#close();
    if (this.#failure !== undefined) throw this.#failure as Error;
    if (problem !== undefined) throw problem as Error;
    return end;
  }

  #start(): Promise<void>[] {
    const { sources, clock, log, intervalMs, host } = this.#options;
    return sources.map(({ name, source }, index) => {
      const state = this.states[index];
      if (state === undefined) throw new Error(`BUG: source ${name} has no state`);
      if (source.shape === "streaming") return this.#stream(name, source, state);
      return pollInto(source, state, {
        intervalMs,
        host,
        clock,
        log,
        signal: this.#abort.signal,
        take: (frame, tier) => this.#take(name, source.devices(), frame, tier, {}),
      });
    });
  }

  #stream(name: string, source: StreamingSource, state: SourceState): Promise<void> {
    return runStream(source, state, {
      clock: this.#options.clock,
      log: this.#options.log,
      signal: this.#abort.signal,
      deliver: (frame, info) =>
        this.#take(name, info.devices ?? source.devices(), frame, "stream", info),
      checkpoint: () => this.#checkpointAfresh(),
      reject: (reason, { origin }) =>
        this.letters.reject({ content: new Uint8Array(), reason, source: name, origin }),
    });
  }

  async #take(
    source: string,
    devices: Delivery["devices"],
    frame: Frame,
    tier: Delivery["tier"],
    { origin, host, tags }: StreamFrameInfo,
  ): Promise<void> {
    let delivery: Delivery = {
      frame,
      source,
      tier,
      freshForMs: freshForMs(this.#options.intervalMs),
      devices,
      host,
      origin,
      tags,
    };
    this.#waiting++;
    const written = this.#gate.pass(async () => {
      if (this.#failure !== undefined) throw this.#failure as Error;
      for (const transform of this.#options.transforms) delivery = transform(delivery);
      await this.#write(delivery);
      for (const companion of this.#options.companions ?? [])
        for (const more of companion.take(delivery)) await this.#write(more);
      const counts = this.bySource.get(source);
      if (counts === undefined) throw new Error(`BUG: source ${source} is not counted`);
      counts.frames++;
      counts.lagSeconds = Math.max(0, this.#options.clock.nowMs() - frame.timeMs) / 1_000;
      this.#uncommitted++;
      this.#lastFrameMs = this.#options.clock.monotonicMs();
    });
    await written.finally(() => this.#waiting--);
    if (this.#uncommitted >= this.#options.checkpointFrames) void this.#checkpoint();
  }

  async #write(delivery: Delivery): Promise<void> {
    const writes: Promise<void>[] = [];
    for (const [index, sink] of this.#options.sinks.entries()) {
      try {
        const written = sink.write(delivery);
        if (written instanceof Promise) writes.push(this.#written(written, sink, index));
        else this.#count(index, "frames");
      } catch (thrown) {
        this.#refused(sink, index, thrown);
      }
    }
    if (writes.length > 0) await Promise.all(writes);
  }

  async #written(written: Promise<void>, sink: Sink, index: number): Promise<void> {
    try {
      await written;
    } catch (thrown) {
      this.#refused(sink, index, thrown);
    }
    this.#count(index, "frames");
  }

  #count(index: number, what: keyof OutletCounts): void {
    const counts = this.outlets[index]?.counts;
    if (counts !== undefined) counts[what]++;
  }

  #refused(sink: Sink, index: number, thrown: unknown): never {
    this.#count(index, "failures");
    const failure = sinkFailure(sink, thrown);
    this.#fail(failure);
    throw failure;
  }

  /** Dead letters alone also cause a checkpoint, so that they are stored and not read again. */
  #tick(): void {
    const { checkpointMs, sinks, sources } = this.#options;
    const isAwaited = sources.some(
      ({ source }) => source.shape === "streaming" && source.answersOnCommit === true,
    );
    const rolls = isAwaited ? [] : sinks.map(({ rollMs = 0 }) => rollMs);
    const everyMs = Math.max(checkpointMs, ...rolls);
    this.#cancelTimer = this.#options.clock.after(everyMs, () => {
      if (this.#uncommitted > 0 || this.deadLetters > this.#lettersCommitted)
        void this.#checkpoint();
      this.#tick();
    });
  }

  /**
   * Waits for a running checkpoint and starts another, because the running one may have begun before the latest frames
   * arrived.
   */
  async #checkpointAfresh(): Promise<void> {
    await this.#checkpointing;
    if (this.#failure === undefined) await this.#checkpoint();
  }

  #checkpoint(): Promise<void> {
    this.#checkpointing ??= this.#hold()
      .catch((thrown: unknown) => {
        // A checkpoint that was given up is not a failure of the sink.
        if (!this.#giveUp.signal.aborted) this.#fail(thrown);
      })
      .finally(() => (this.#checkpointing = undefined));
    return this.#checkpointing;
  }

  /**
   * Holds frames back until the checkpoint is over. If every sink and every stream can separate earlier frames from
   * later ones, holds them back only until it has begun: a lake's files are then encoded while reading continues, which
   * was half the time of Kafka to Parquet.
   */
  async #hold(): Promise<void> {
    if (!this.#canGoOn()) return this.#gate.alone(() => this.#store());
    let stored: Promise<void> | undefined;
    await this.#gate.alone(async () => {
      // A stream counts a frame only a moment after it has passed.
      await new Promise((resolve) => setImmediate(resolve));
      stored = this.#store();
      stored.catch(() => undefined);
    });
    await stored;
  }

  #canGoOn(): boolean {
    const { sinks, sources } = this.#options;
    return (
      sinks.every((sink) => sink.takesWhileFlushing === true) &&
      sources.every(
        ({ source }) =>
          source.shape === "streaming" &&
          (source.mark !== undefined || source.commit === undefined),
      )
    );
  }

  async #store(): Promise<void> {
    if (this.#failure !== undefined) return;
    const { clock, sinks, sources } = this.#options;
    const beganMs = clock.monotonicMs();
    const letters = this.deadLetters;
    const frames = this.#uncommitted;
    const streams = sources.flatMap(({ source }) => (source.shape === "streaming" ? source : []));
    const commits = this.#canGoOn()
      ? streams.map((source) => source.mark?.())
      : streams.map((source) => () => source.commit?.());
    await Promise.all(
      sinks.map(async (sink, index) => {
        try {
          await sink.flush?.(this.#giveUp.signal);
        } catch (thrown) {
          if (this.#giveUp.signal.aborted) throw thrown;
          this.#refused(sink, index, thrown);
        }
      }),
    );
    // No other process of the group reads committed data, so it must not stay on the disk of a process that may have
    // died.
    if (streams.some(({ sharesWork }) => sharesWork === true)) {
      await this.#drain(sinks, this.#giveUp.signal);
      if (this.#giveUp.signal.aborted) throw new Error("given up before everything was sent");
    }
    for (const commit of commits) await commit?.();
    this.#uncommitted -= frames;
    this.#lettersCommitted = letters;
    this.checkpoints.count++;
    this.checkpoints.lastMs = clock.nowMs();
    this.checkpoints.durationSeconds = (clock.monotonicMs() - beganMs) / 1_000;
  }

  async #finish(why: string, hasFailed: boolean, stop: AbortSignal): Promise<PipeEnd> {
    const { companions = [], graceMs, sinks } = this.#options;
    const isWhole = (why === "ended" || why === "idle") && !hasFailed;
    if (isWhole && this.#failure === undefined)
      for (const companion of companions)
        for (const delivery of companion.end())
          await this.#gate
            .pass(() => this.#write(delivery))
            .catch((thrown: unknown) => this.#fail(thrown));
    const before = this.checkpoints.count;
    const isNeeded = (): boolean =>
      this.#uncommitted > 0 || this.deadLetters > this.#lettersCommitted || isWhole;
    let checkpointed = !isNeeded();
    if (this.#failure === undefined && !checkpointed) {
      const last = this.#checkpointAfresh();
      // Waits for an unavailable sink without a time limit, unless the user stops the process.
      if (isWhole) await Promise.race([last, this.#stoppedFor(stop, graceMs)]);
      else await this.#within(last, graceMs);
      checkpointed = this.checkpoints.count > before && this.#uncommitted === 0;
    }
    if (isWhole && this.#failure === undefined && checkpointed) await this.#drain(sinks, stop);
    this.#giveUp.abort();
    return { why: isWhole ? "ended" : "stopped", checkpointed };
  }

  /** Waits until the spools on disk are empty: nothing would send the rest after the exit. Memory has been flushed. */
  async #drain(sinks: readonly Sink[], stop: AbortSignal): Promise<void> {
    const waiting = (): number =>
      sinks.reduce((sum, sink) => sum + (sink.shipping?.().spool.bytes ?? 0), 0);
    for (let isLogged = false; waiting() > 0 && !stop.aborted;) {
      await pause(drainLookMs, undefined, this.#options.clock);
      const problem = sinks.map((sink) => sink.shipping?.().ship.problem).find(Boolean);
      if (isLogged || problem === undefined) continue;
      isLogged = true;
      this.#options.log.warn("waiting until the spools are sent", { error: problem });
    }
  }

  async #close(): Promise<void> {
    this.#cancelTimer?.();
    const { sources, sinks } = this.#options;
    await this.#within(
      Promise.allSettled(sources.map(async ({ source }) => source.close())),
      closeGraceMs,
    );
    await this.#within(Promise.allSettled(sinks.map(async (sink) => sink.close())), closeGraceMs);
  }

  async #idle(signal: AbortSignal): Promise<"idle"> {
    const { idleMs, clock } = this.#options;
    if (idleMs === undefined) return new Promise(() => {});
    let busyMs = this.#lastFrameMs;
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs();
      busyMs = this.#isBusy() ? nowMs : Math.max(busyMs, this.#lastFrameMs);
      const leftMs = idleMs - (nowMs - busyMs);
      if (leftMs <= 0) return "idle";
      await pause(Math.min(leftMs, longestIdleLookMs), signal, clock);
    }
    return new Promise(() => {});
  }

  /** True while a sink stalls or a source lags, which also means that no frames arrive for a while. */
  #isBusy(): boolean {
    if (this.#waiting > 0 || this.#checkpointing !== undefined) return true;
    return this.#unread().some((records) => records !== 0);
  }

  #unread(): readonly (number | undefined)[] {
    return this.#options.sources.flatMap(({ source }) =>
      source.shape === "streaming" && source.unreadRecords !== undefined
        ? [source.unreadRecords()]
        : [],
    );
  }

  async #stoppedFor(stop: AbortSignal, graceMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      else stop.addEventListener("abort", () => resolve(), { once: true });
    });
    await pause(graceMs, undefined, this.#options.clock);
  }

  async #within(work: Promise<unknown>, graceMs: number): Promise<void> {
    await within(work, graceMs, this.#options.clock);
  }
}

function sinkFailure(sink: Sink, thrown: unknown): Error {
  if (thrown instanceof GpulseError) return thrown;
  return new GpulseError(
    "SINK_FAILED",
    `${sink.name} cannot store the data: ${formatError(thrown)}. Nothing since the last checkpoint is committed: fix it and start again.`,
    { cause: thrown },
  );
}
