// One simulated GPU's batching engine: requests wait, run concurrently in slots, and each step generates a token for every
// running one. A larger batch makes a step longer, so latency follows load. Time is an argument; no clock is read here.

import { BusyWindow } from "./busy.ts";
import { BLOCK_TOKENS, PrefixCache } from "./prefix-cache.ts";
import type { FinishReason, Sequence } from "./sequence.ts";

export interface EngineLimits {
  /** Maximum number of concurrent requests (vLLM's max_num_seqs). */
  readonly slots: number;
  /** Capacity of the KV cache in tokens. */
  readonly kvTokens: number;
}

/** Receives the events of a step, for counting. */
export interface Watcher {
  scheduled(engine: number, sequence: Sequence): void;
  firstToken(engine: number, sequence: Sequence): void;
  nextToken(engine: number, seconds: number): void;
  step(engine: number, promptTokens: number, generatedTokens: number): void;
  preempted(engine: number): void;
  finished(engine: number, sequence: Sequence, reason: FinishReason): void;
}

const STEP_MS = { base: 12, perSequence: 0.6, perPrefillToken: 0.04 };
/** A real engine computes a longer prompt in several steps; here it only lengthens its one step. */
const MOST_PREFILL_TOKENS = 2_048;

/** Small batches leave gaps between kernels. */
function kernelShare(batch: number): number {
  return 0.6 + 0.38 * Math.min(1, batch / 8);
}

export function stepMs(batch: number, prefillTokens: number, slowdown: number): number {
  const { base, perSequence, perPrefillToken } = STEP_MS;
  return (base + perSequence * batch + perPrefillToken * prefillTokens) * slowdown;
}

interface Step {
  readonly fromMs: number;
  readonly toMs: number;
  readonly share: number;
  readonly prefillTokens: number;
}

export class Engine {
  readonly index: number;
  slowdown = 1;
  readonly #limits: EngineLimits;
  readonly #watcher: Watcher;
  readonly #prefixes: PrefixCache;
  readonly #busy = new BusyWindow();
  #waiting: Sequence[] = [];
  #running: Sequence[] = [];
  #step: Step | undefined;
  #lastUsedMs: number | undefined;

  constructor(index: number, limits: EngineLimits, watcher: Watcher) {
    this.index = index;
    this.#limits = limits;
    this.#watcher = watcher;
    this.#prefixes = new PrefixCache(limits.kvTokens / BLOCK_TOKENS);
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** When it last had a request; undefined before the first. */
  get lastUsedMs(): number | undefined {
    return this.#lastUsedMs;
  }

  get kvUsage(): number {
    return Math.min(1, this.#kvTokens() / this.#limits.kvTokens);
  }

  submit(sequence: Sequence, prompt: string, nowMs: number): void {
    this.advance(nowMs);
    // The last token is always computed: without it there is nothing to continue from.
    sequence.cachedTokens = Math.min(this.#prefixes.lookUp(prompt), sequence.promptTokens - 1);
    this.#waiting.push(sequence);
    this.#lastUsedMs = nowMs;
    if (this.#step === undefined) this.#begin(nowMs);
  }

  abort(id: string, nowMs: number): void {
    this.advance(nowMs);
    const gone = [...this.#waiting, ...this.#running].find((sequence) => sequence.id === id);
    if (gone === undefined) return;
    this.#waiting = this.#waiting.filter((sequence) => sequence !== gone);
    this.#running = this.#running.filter((sequence) => sequence !== gone);
    this.#finish(gone, "abort", nowMs);
  }

  /** Completes all steps that end by `nowMs`. */
  advance(nowMs: number): void {
    while (this.#step !== undefined && this.#step.toMs <= nowMs) {
      const { toMs } = this.#step;
      this.#complete(this.#step);
      this.#begin(toMs);
    }
  }

  busy(nowMs: number): number {
    return this.#busy.ratio(nowMs, this.#step);
  }

  #begin(nowMs: number): void {
    this.#step = undefined;
    let prefillTokens = 0;
    while (this.#running.length < this.#limits.slots && prefillTokens < MOST_PREFILL_TOKENS) {
      const next = this.#waiting[0];
      if (next === undefined) break;
      const needed = next.promptTokens + next.generated + 1;
      if (this.#running.length > 0 && this.#kvTokens() + needed > this.#limits.kvTokens) break;
      this.#waiting.shift();
      this.#running.push(next);
      prefillTokens += next.promptTokens + next.generated - next.cachedTokens;
      if (next.scheduledMs === undefined) {
        next.scheduledMs = nowMs;
        this.#watcher.scheduled(this.index, next);
      }
    }
    const batch = this.#running.length;
    if (batch === 0) return;
    const toMs = nowMs + stepMs(batch, prefillTokens, this.slowdown);
    this.#step = { fromMs: nowMs, toMs, share: kernelShare(batch), prefillTokens };
  }

  #complete({ fromMs, toMs, share, prefillTokens }: Step): void {
    this.#busy.add(fromMs, toMs, share);
    this.#lastUsedMs = toMs;
    const produced = [...this.#running];
    for (const sequence of produced) {
      sequence.generated += 1;
      if (sequence.firstTokenMs === undefined) {
        sequence.firstTokenMs = toMs;
        this.#watcher.firstToken(this.index, sequence);
      } else {
        this.#watcher.nextToken(this.index, (toMs - (sequence.lastTokenMs ?? toMs)) / 1000);
      }
      sequence.lastTokenMs = toMs;
      if (sequence.generated < sequence.outputTokens) continue;
      this.#running = this.#running.filter((other) => other !== sequence);
      this.#finish(sequence, sequence.generated < sequence.maxTokens ? "stop" : "length", toMs);
    }
    this.#watcher.step(this.index, prefillTokens, produced.length);
    this.#makeRoom();
  }

  /** Preempts the newest requests until the rest fits; they restart from their prompt later. */
  #makeRoom(): void {
    while (this.#running.length > 1 && this.#kvTokens() > this.#limits.kvTokens) {
      const newest = this.#running.pop();
      if (newest === undefined) break;
      newest.cachedTokens = 0;
      this.#waiting.unshift(newest);
      this.#watcher.preempted(this.index);
    }
  }

  #finish(sequence: Sequence, reason: FinishReason, nowMs: number): void {
    sequence.finishedMs = nowMs;
    this.#watcher.finished(this.index, sequence, reason);
  }

  #kvTokens(): number {
    return this.#running.reduce((sum, one) => sum + one.promptTokens + one.generated, 0);
  }
}
