/**
 * Sends what a spool holds, one lot at a time and in order, for as long as it takes: a receiver that is away is asked again with
 * growing, jittered pauses, one that refuses for good loses that lot, counted. What is acknowledged has been answered for.
 */
import { formatError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { Clock } from "../base/clock.ts";
import type { SpoolRecord } from "./spool/segment.ts";
import type { Spool } from "./spool/spool.ts";

/** What became of a lot: taken (all, or less what the receiver will never take), not now, or never. */
export type SendResult =
  | { readonly outcome: "sent"; readonly refusedSamples?: number; readonly problem?: string }
  | { readonly outcome: "retry"; readonly problem: string; readonly afterMs?: number }
  | { readonly outcome: "refused"; readonly problem: string };

/** Called again with the very same records until it answers with something else than retry; a rejection is a retry. */
export type Send = (records: readonly SpoolRecord[], signal: AbortSignal) => Promise<SendResult>;

export interface ShipOptions {
  /** In log lines and self-metrics; no secret in it. */
  readonly name: string;
  readonly spool: Spool;
  readonly send: Send;
  /** About how much is read at a time. */
  readonly lotBytes: number;
  readonly clock: Clock;
  /** 0 up to 1. */
  readonly random: () => number;
  readonly log: Log;
  /** Waits a moment for what belongs into one lot, once something waits; absent sends at once. */
  readonly gather?: (signal: AbortSignal) => Promise<void>;
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

export interface ShipStats {
  readonly name: string;
  readonly sentRecords: number;
  readonly sentSamples: number;
  readonly refusedSamples: number;
  readonly retries: number;
  /** How long the oldest that waits has been waiting; 0 when nothing does. */
  readonly lagSeconds: number;
  /** What is wrong, while something is. */
  readonly problem?: string;
  /** How far this machine's clock is ahead of the receiver's; absent where the receiver does not report its own. */
  readonly clockAheadSeconds?: number;
  /** Sent with a corrected time; absent where a sink never does. */
  readonly restampedSamples?: number;
}

/** A receiver that says something else every time is not repeated for ever. */
const mostTroubles = 10;

export class Shipper {
  readonly #options: ShipOptions;
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();
  #running: Promise<void> | undefined;
  #sentRecords = 0;
  #sentSamples = 0;
  #refusedSamples = 0;
  #retries = 0;
  #failures = 0;
  #problem: string | undefined;
  /** Of this outage: what comes first need not be what lasts, and each is told once. */
  readonly #toldTroubles = new Set<string>();
  #refusalToldMs = -Infinity;

  constructor(options: ShipOptions) {
    this.#options = options;
  }

  /** Goes on where the spool was last acknowledged. */
  start(): void {
    this.#running ??= this.#run();
  }

  stats(): ShipStats {
    const { oldestTimeMs } = this.#options.spool.stats();
    const nowMs = this.#options.clock.nowMs();
    return {
      name: this.#options.name,
      sentRecords: this.#sentRecords,
      sentSamples: this.#sentSamples,
      refusedSamples: this.#refusedSamples,
      retries: this.#retries,
      lagSeconds: oldestTimeMs === undefined ? 0 : Math.max(0, nowMs - oldestTimeMs) / 1_000,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /** Sends what still waits, each lot once and no longer than this; the rest stays in the spool. */
  async close(withinMs: number): Promise<void> {
    this.#stop.abort();
    const cancel = this.#options.clock.after(withinMs, () => this.#giveUp.abort());
    await this.#running;
    cancel();
  }

  async #run(): Promise<void> {
    const { spool, lotBytes } = this.#options;
    for (;;) {
      await spool.readable(this.#stop.signal);
      if (!this.#stop.signal.aborted) await this.#options.gather?.(this.#stop.signal);
      const records = spool.read(lotBytes);
      const last = records.at(-1);
      if (last === undefined) {
        if (this.#stop.signal.aborted) return;
        continue;
      }
      if (!(await this.#deliver(records))) return;
      spool.acknowledge(last.position);
    }
  }

  /** True when they are answered for; false when it is time to end. */
  async #deliver(records: readonly SpoolRecord[]): Promise<boolean> {
    for (;;) {
      const result = await this.#attempt(records);
      if (result.outcome === "retry") {
        this.#failed(result.problem);
        if (this.#stop.signal.aborted) return false;
        await this.#pause(result.afterMs);
        continue;
      }
      this.#answered(records, result);
      return true;
    }
  }

  async #attempt(records: readonly SpoolRecord[]): Promise<SendResult> {
    if (this.#giveUp.signal.aborted) return { outcome: "retry", problem: "it is time to end" };
    const { log, name: to, clock, send } = this.#options;
    const startMs = clock.monotonicMs();
    let result: SendResult;
    try {
      result = await send(records, this.#giveUp.signal);
    } catch (thrown) {
      result = { outcome: "retry", problem: formatError(thrown) };
    }
    if (log.isDebug === true)
      log.debug("batch sent", {
        to,
        records: records.length,
        samples: records.reduce((sum, record) => sum + record.samples, 0),
        outcome: result.outcome,
        tookMs: Math.round((clock.monotonicMs() - startMs) * 100) / 100,
        error: result.problem,
      });
    return result;
  }

  #failed(problem: string): void {
    const { log, name } = this.#options;
    this.#retries++;
    this.#failures++;
    if (!this.#toldTroubles.has(problem) && this.#toldTroubles.size < mostTroubles)
      log.warn("cannot send: it is kept and tried again", { to: name, error: problem });
    if (this.#toldTroubles.size < mostTroubles) this.#toldTroubles.add(problem);
    this.#problem = problem;
  }

  #answered(
    records: readonly SpoolRecord[],
    result: Exclude<SendResult, { outcome: "retry" }>,
  ): void {
    const { log, name } = this.#options;
    const samples = records.reduce((sum, record) => sum + record.samples, 0);
    const refused = result.outcome === "refused" ? samples : (result.refusedSamples ?? 0);
    this.#sentRecords += records.length;
    this.#sentSamples += samples - refused;
    this.#refusedSamples += refused;
    if (this.#failures > 0) log.info("sends again", { to: name, attempts: this.#failures });
    this.#failures = 0;
    this.#problem = undefined;
    this.#toldTroubles.clear();
    if (refused > 0) this.#tellRefusal(refused, result.problem ?? "");
  }

  /** Once a minute at most. */
  #tellRefusal(samples: number, problem: string): void {
    const { log, name, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#refusalToldMs < 60_000) return;
    this.#refusalToldMs = nowMs;
    log.error("the receiver refuses samples for good", { to: name, samples, error: problem });
  }

  /** Half of a growing pause, and up to as much again by chance; never sooner than was asked for, and up to half as much later. */
  async #pause(afterMs: number | undefined): Promise<void> {
    const { clock, random, firstPauseMs = 500, longestPauseMs = 30_000 } = this.#options;
    const wholeMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(20, this.#failures - 1));
    // Many are told the same number of seconds in the same instant: they must not come back in the same instant too.
    const askedMs = (afterMs ?? 0) * (1 + random() / 2);
    const pauseMs = Math.max(askedMs, wholeMs * (0.5 + random() / 2));
    const { signal } = this.#stop;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(pauseMs, () => {
        signal.removeEventListener("abort", stopped);
        resolve();
      });
      const stopped = (): void => {
        cancel();
        resolve();
      };
      if (signal.aborted) stopped();
      else signal.addEventListener("abort", stopped, { once: true });
    });
  }
}
