/**
 * Sends the items of a queue in order, one batch at a time, until the receiver has accepted or refused each of them. Unavailable
 * receivers are retried with growing, jittered pauses; a refused batch is halved to isolate the bad item. At-least-once: an item
 * leaves the queue only after it was acknowledged or permanently refused.
 */
import type { Clock } from "../clock.ts";
import { formatError } from "../error.ts";
import { limitDebug, type Log } from "../log.ts";
import { type BackoffOptions, backoffMs, pause } from "../retry.ts";

/** Outcome of one request. */
export type SendResult =
  /** Accepted, except for `refusedSamples` samples that the receiver permanently rejected. */
  | {
      readonly outcome: "sent";
      readonly refusedSamples?: number | undefined;
      readonly problem?: string | undefined;
    }
  /** `maybeSent`: the receiver may have stored the request without acknowledging it. */
  | {
      readonly outcome: "retry";
      readonly problem: string;
      readonly afterMs?: number | undefined;
      readonly maybeSent?: boolean;
    }
  | { readonly outcome: "refused"; readonly problem: string; readonly isTooLarge?: boolean };

/** The receiver accepts nothing until the user fixes something; the sender stops. */
export interface SendFailure {
  readonly outcome: "failed";
  readonly error: Error;
}

export interface SendQueue<Item> {
  /** Resolves when an item waits or the signal aborts. */
  readable(signal: AbortSignal): Promise<void>;
  /** Waits for more items to share the request; absent sends at once. */
  linger?(signal: AbortSignal): Promise<void>;
  /** The oldest items, about one request; they stay in the queue until acknowledged. */
  read(): readonly Item[];
  /** Removes these items, the oldest of the queue. */
  acknowledge(items: readonly Item[]): void;
  /** When the oldest item was queued, if the queue records that. */
  oldestTimeMs?(): number | undefined;
  /** The queue outlives the process: `close` attempts each batch once and leaves the rest. */
  readonly isPersistent: boolean;
}

export interface BatchSenderOptions<Item> {
  /** The receiver, in log lines and self-metrics; without secrets. */
  readonly name: string;
  readonly queue: SendQueue<Item>;
  /** A rejected promise counts as `retry`. A retry sends exactly the same items. */
  readonly send: (items: readonly Item[], signal: AbortSignal) => Promise<SendResult | SendFailure>;
  /** Samples in an item, for the counters; 1 if absent. */
  readonly samplesOf?: (item: Item) => number;
  /** Bytes of an item, for the log; the log omits them if absent. */
  readonly sizeOf?: (item: Item) => number;
  /** Turns a refusal into a failure; absent counts and logs it. */
  readonly refusalError?: ((problem: string) => Error) | undefined;
  readonly onFailure?: (error: Error) => void;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly backoff?: BackoffOptions;
  /** Bounds the receiver's Retry-After. */
  readonly maxRetryAfterMs?: number;
}

export interface SendStats {
  readonly name: string;
  readonly sentRecords: number;
  readonly sentSamples: number;
  readonly refusedSamples: number;
  readonly retries: number;
  /** How long the oldest item has been waiting; 0 if none waits. */
  readonly lagSeconds: number;
  /** The current error; absent while sending works. */
  readonly problem?: string;
}

/** Limit of distinct messages logged per outage or minute: a receiver may put a counter into each. */
const maxLoggedProblems = 10;
const refusalLogMs = 60_000;
/** Pause between two attempts while closing. */
const closingPauseMs = 250;
/** For a `send` that ignores its signal. */
const abandonAfterMs = 1_000;

/** Interval at which a receiver that stays down is logged again. */
const remindEveryMs = 60_000;

export class BatchSender<Item> {
  readonly #options: BatchSenderOptions<Item>;
  readonly #log: Log;
  readonly #closing = new AbortController();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #sentRecords = 0;
  #sentSamples = 0;
  #refusedSamples = 0;
  #retries = 0;
  #failures = 0;
  #problem: string | undefined;
  readonly #loggedProblems = new Set<string>();
  #remindedMs = 0;
  readonly #loggedRefusals = new Set<string>();
  #refusalsSinceMs = -Infinity;

  constructor(options: BatchSenderOptions<Item>) {
    this.#options = options;
    this.#log = limitDebug(options.log, () => options.clock.monotonicMs());
  }

  start(): void {
    this.#running ??= this.#run();
  }

  stats(): SendStats {
    const { name, queue, clock } = this.#options;
    const oldestTimeMs = queue.oldestTimeMs?.();
    return {
      name,
      sentRecords: this.#sentRecords,
      sentSamples: this.#sentSamples,
      refusedSamples: this.#refusedSamples,
      retries: this.#retries,
      lagSeconds:
        oldestTimeMs === undefined ? 0 : Math.max(0, clock.nowMs() - oldestTimeMs) / 1_000,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /** Sends the items that still wait, for at most `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const { clock, queue } = this.#options;
    this.#closing.abort();
    const ended = new AbortController();
    const running = (this.#running ?? Promise.resolve()).finally(() => ended.abort());
    await pause(withinMs, ended.signal, clock);
    this.#stop.abort();
    await (queue.isPersistent
      ? running
      : Promise.race([running, pause(abandonAfterMs, ended.signal, clock)]));
  }

  async #run(): Promise<void> {
    const { queue } = this.#options;
    const { signal } = this.#closing;
    for (;;) {
      await queue.readable(signal);
      if (!signal.aborted) await queue.linger?.(signal);
      const items = queue.read();
      if (items.length === 0 && signal.aborted) return;
      if (items.length > 0 && !(await this.#deliver(items))) return;
    }
  }

  /** True when each item was accepted or refused; false when the sender has to stop. */
  async #deliver(items: readonly Item[]): Promise<boolean> {
    const { queue, samplesOf = () => 1, onFailure, refusalError } = this.#options;
    for (;;) {
      const result = await this.#attempt(items);
      if (result.outcome === "retry") {
        this.#logRetry(result.problem);
        if ((queue.isPersistent ? this.#closing : this.#stop).signal.aborted) return false;
        await this.#backOff(result.afterMs);
        continue;
      }
      if (result.outcome === "failed") {
        onFailure?.(result.error);
        return false;
      }
      this.#recover();
      if (result.outcome === "refused" && items.length > 1) {
        const middle = Math.ceil(items.length / 2);
        return (
          (await this.#deliver(items.slice(0, middle))) &&
          (await this.#deliver(items.slice(middle)))
        );
      }
      const samples = items.reduce((sum, item) => sum + samplesOf(item), 0);
      const refused = result.outcome === "refused" ? samples : (result.refusedSamples ?? 0);
      if (refused > 0 && refusalError !== undefined) {
        onFailure?.(refusalError(result.problem ?? ""));
        return false;
      }
      this.#sentRecords += items.length;
      this.#sentSamples += samples - refused;
      this.#refusedSamples += refused;
      if (refused > 0) this.#logRefusal(refused, result.problem ?? "");
      queue.acknowledge(items);
      return true;
    }
  }

  async #attempt(items: readonly Item[]): Promise<SendResult | SendFailure> {
    const { name: to, clock, send, samplesOf = () => 1, sizeOf } = this.#options;
    const log = this.#log;
    const { signal } = this.#stop;
    if (signal.aborted) return { outcome: "retry", problem: "stopped" };
    const startMs = clock.monotonicMs();
    let result: SendResult | SendFailure;
    try {
      result = await send(items, signal);
    } catch (thrown) {
      result = { outcome: "retry", problem: formatError(thrown) };
    }
    if (log.isDebug === true)
      log.debug("batch sent", {
        to,
        records: items.length,
        samples: items.reduce((sum, item) => sum + samplesOf(item), 0),
        bytes:
          sizeOf === undefined ? undefined : items.reduce((sum, item) => sum + sizeOf(item), 0),
        outcome: result.outcome,
        retry: this.#failures === 0 ? undefined : this.#failures,
        tookMs: Math.round((clock.monotonicMs() - startMs) * 100) / 100,
        error: result.outcome === "failed" ? result.error.message : result.problem,
      });
    return result;
  }

  #logRetry(problem: string): void {
    const { log, name: to, clock } = this.#options;
    this.#problem = problem;
    if (this.#stop.signal.aborted) return;
    this.#retries++;
    this.#failures++;
    const nowMs = clock.monotonicMs();
    if (addUpTo(this.#loggedProblems, problem)) {
      this.#remindedMs = nowMs;
      log.warn("send failed, will retry", { to, error: problem });
    } else if (nowMs - this.#remindedMs >= remindEveryMs) {
      this.#remindedMs = nowMs;
      log.warn("send still fails, will retry", { to, attempts: this.#failures, error: problem });
    }
  }

  #recover(): void {
    const { log, name: to } = this.#options;
    if (this.#failures > 0) log.info("sending again", { to, attempts: this.#failures });
    this.#failures = 0;
    this.#problem = undefined;
    this.#loggedProblems.clear();
  }

  #logRefusal(samples: number, problem: string): void {
    const { log, name: to, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#refusalsSinceMs >= refusalLogMs) {
      this.#refusalsSinceMs = nowMs;
      this.#loggedRefusals.clear();
    }
    if (addUpTo(this.#loggedRefusals, problem))
      log.error("receiver refused samples, dropped", { to, samples, error: problem });
  }

  /** Waits at least Retry-After, and up to half of it longer: many clients get the same value at the same instant. */
  async #backOff(afterMs = 0): Promise<void> {
    const { clock, random, backoff, maxRetryAfterMs = Infinity } = this.#options;
    const askedMs = Math.min(maxRetryAfterMs, afterMs * (1 + random() / 2));
    const delayMs = Math.max(askedMs, backoffMs(this.#failures - 1, random, backoff));
    const { signal } = this.#closing;
    if (signal.aborted) await pause(Math.min(delayMs, closingPauseMs), this.#stop.signal, clock);
    else await pause(delayMs, signal, clock);
  }
}

/** False if the set already has the text or is full. */
function addUpTo(set: Set<string>, text: string): boolean {
  if (set.has(text) || set.size >= maxLoggedProblems) return false;
  set.add(text);
  return true;
}
