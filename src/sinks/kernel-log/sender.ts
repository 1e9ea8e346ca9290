/**
 * Sends lines in batches, one request at a time, and tries again until they are taken or refused for good. What waits is
 * bounded: beyond it the oldest goes, and is counted.
 */
import { backoffMs, pause } from "../../base/retry.ts";
import type { Log } from "../../base/log.ts";
import type { KernelLine, LineTarget } from "./line.ts";

export interface KernelLineSenderOptions {
  readonly target: LineTarget;
  /** How many lines may wait. */
  readonly mostWaiting: number;
  readonly batchLines?: number;
  /** How long the first of a batch waits for more. */
  readonly lingerMs?: number;
  readonly log: Log;
  readonly random: () => number;
}

export interface KernelLineSenderStats {
  readonly sent: number;
  readonly refused: number;
  /** For want of room, or of time at the end. */
  readonly dropped: number;
  readonly waiting: number;
  readonly retries: number;
  readonly isTaken: boolean;
}

/** What a receiver may ask us to wait. */
const longestWaitMs = 60_000;

export class KernelLineSender {
  readonly #options: Required<KernelLineSenderOptions>;
  readonly #stop = new AbortController();
  readonly #hurry = new AbortController();
  #queue: KernelLine[] = [];
  /** How many lines have left the queue: the number of the first that waits. */
  #first = 0;
  /** Lines in one request; fewer for a while after one was refused, to find which. */
  #limit: number;
  #sent = 0;
  #refused = 0;
  #dropped = 0;
  #retries = 0;
  #problem: string | undefined;
  #isFull = false;
  #running: Promise<void> | undefined;

  constructor(options: KernelLineSenderOptions) {
    this.#options = { batchLines: 500, lingerMs: 1_000, ...options };
    this.#limit = this.#options.batchLines;
  }

  add(line: KernelLine): void {
    const { mostWaiting, log, target } = this.#options;
    this.#queue.push(line);
    if (this.#queue.length > mostWaiting) {
      this.#leave(1);
      this.#dropped++;
      if (!this.#isFull)
        log.error("too many kernel lines wait to be sent, the oldest are lost", {
          to: target.shown,
          most: mostWaiting,
        });
      this.#isFull = true;
    }
    this.#running ??= this.#drain();
  }

  stats(): KernelLineSenderStats {
    return {
      sent: this.#sent,
      refused: this.#refused,
      dropped: this.#dropped,
      waiting: this.#queue.length,
      retries: this.#retries,
      isTaken: this.#problem === undefined,
    };
  }

  /** Sends what waits as long as the grace allows, and says what was left. */
  async stop(graceMs: number): Promise<void> {
    const { log, target } = this.#options;
    this.#hurry.abort();
    const over = setTimeout(() => this.#stop.abort(), graceMs);
    await this.#running;
    clearTimeout(over);
    this.#stop.abort();
    const left = this.#queue.length;
    this.#dropped += left;
    this.#leave(left);
    if (left > 0)
      log.error("kernel lines could not be sent before the end", { to: target.shown, lines: left });
    target.close();
  }

  async #drain(): Promise<void> {
    const { batchLines, lingerMs } = this.#options;
    for (let attempt = 0; this.#queue.length > 0 && !this.#stop.signal.aborted;) {
      if (attempt === 0 && this.#queue.length < batchLines) await this.#wait(lingerMs, false);
      attempt = (await this.#attempt(attempt)) ? 0 : attempt + 1;
    }
    this.#running = undefined;
  }

  /** False where it is to be tried again later, after the pause that it has made. */
  async #attempt(attempt: number): Promise<boolean> {
    const { target, batchLines, random } = this.#options;
    const batch = this.#queue.slice(0, this.#limit);
    const end = this.#first + batch.length;
    const result = await target.send(batch, this.#stop.signal);
    if (result.outcome === "later") {
      if (this.#stop.signal.aborted) return false;
      this.#retries++;
      this.#say(result.problem);
      // A receiver may ask for no pause at all, and be asked without end.
      const pauseMs = Math.max(result.afterMs ?? 0, backoffMs(attempt, random));
      await this.#wait(Math.min(longestWaitMs, pauseMs), true);
      return false;
    }
    this.#recover();
    // Some may have been dropped for want of room meanwhile.
    const still = Math.max(0, end - this.#first);
    if (result.outcome === "taken") {
      this.#sent += still;
      this.#leave(still);
      this.#limit = Math.min(batchLines, this.#limit * 2);
    } else if (batch.length > 1) {
      this.#limit = Math.ceil(batch.length / 2);
    } else {
      this.#refused += still;
      this.#leave(still);
      this.#options.log.error("a kernel line is refused and lost", {
        to: target.shown,
        error: result.problem,
      });
    }
    return true;
  }

  /** Once we are to end, what would wait for company goes at once; a receiver that is away is still not asked without a pause. */
  async #wait(delayMs: number, isRetry: boolean): Promise<void> {
    const [stop, hurry] = [this.#stop.signal, this.#hurry.signal];
    if (!hurry.aborted) await pause(delayMs, AbortSignal.any([stop, hurry]));
    else if (isRetry) await pause(Math.min(delayMs, endingPauseMs), stop);
  }

  #say(problem: string): void {
    const { log, target } = this.#options;
    if (this.#problem === undefined)
      log.warn("kernel lines cannot be sent, trying again until they are taken", {
        to: target.shown,
        error: problem,
      });
    this.#problem = problem;
  }

  #recover(): void {
    const { log, target } = this.#options;
    if (this.#problem !== undefined) log.info("kernel lines are sent again", { to: target.shown });
    this.#problem = undefined;
    this.#isFull = false;
  }

  #leave(count: number): void {
    this.#queue.splice(0, count);
    this.#first += count;
  }
}

const endingPauseMs = 250;
