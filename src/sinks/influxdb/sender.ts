/**
 * Sends lines in batches, one request at a time, until the server has answered for each: stored, or refused for good. Waits
 * for a server that is away as long as it takes. Never drops a line that might still be taken.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { GpulseError } from "../../base/error.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import type { Log } from "../../base/log.ts";
import type { WriteResult } from "./writer.ts";

export interface InfluxSenderOptions {
  readonly shown: string;
  readonly batchBytes: number;
  /** How long the first of a batch waits for more. */
  readonly lingerMs: number;
  /** What waits in memory before `add` does. */
  readonly heldBytes: number;
  /** A refused line ends everything instead of being counted. */
  readonly stopsAtRefusal: boolean;
  readonly write: (body: string, signal: AbortSignal) => Promise<WriteResult>;
  readonly log: Log;
  readonly random: () => number;
}

export interface InfluxSenderStats {
  readonly sent: number;
  readonly refused: number;
  readonly waiting: number;
  readonly retries: number;
  readonly problem: string | undefined;
}

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A server that says something else about every line is not repeated for ever. */
const mostRefusals = 10;

export class InfluxLineSender {
  readonly #options: InfluxSenderOptions;
  readonly #stop = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #refusals = new Set<string>();
  #queue: string[] = [];
  #heldBytes = 0;
  #added = 0;
  /** Answered for, stored or not. */
  #done = 0;
  #refused = 0;
  #retries = 0;
  #problem: string | undefined;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;
  #hurry = new AbortController();

  constructor(options: InfluxSenderOptions) {
    this.#options = options;
  }

  get stats(): InfluxSenderStats {
    return {
      sent: this.#done - this.#refused,
      refused: this.#refused,
      waiting: this.#added - this.#done,
      retries: this.#retries,
      problem: this.#problem,
    };
  }

  /** Takes them at once; resolves when there is room for more. Rejects once nothing can be written any more. */
  async add(lines: readonly string[]): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    for (const line of lines) {
      this.#queue.push(line);
      this.#heldBytes += line.length + 1;
    }
    this.#added += lines.length;
    if (this.#heldBytes >= this.#options.batchBytes) this.#hurry.abort();
    if (this.#queue.length > 0) this.#running ??= this.#drain();
    if (this.#heldBytes > this.#options.heldBytes)
      await this.#until(this.#added - Math.floor((this.#added - this.#done) / 2));
  }

  /** Resolves when the server has answered for everything added so far. */
  async flush(signal: AbortSignal): Promise<void> {
    const done = this.#until(this.#added, signal);
    this.#hurry.abort();
    await done;
  }

  /** Waits for what is held, for a while; what is left is lost, and said. */
  async close(withinMs: number): Promise<void> {
    if (this.#failure === undefined)
      await this.flush(AbortSignal.timeout(withinMs)).catch(() => undefined);
    this.#stop.abort();
    await Promise.race([this.#running, sleep(1_000, undefined, { ref: false })]);
    const left = this.#added - this.#done;
    if (left > 0)
      this.#options.log.error("lines were not written before the end", {
        to: this.#options.shown,
        lines: left,
      });
  }

  async #until(upTo: number, signal?: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#done >= upTo) return;
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        if (this.#waiters.delete(waiter)) reject(new Error("stopped before all was written"));
      };
      const settled = (settle: () => void) => () => {
        signal?.removeEventListener("abort", giveUp);
        settle();
      };
      const waiter: Waiter = {
        upTo,
        resolve: settled(resolve),
        reject: (error) => settled(() => reject(error))(),
      };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
    });
  }

  async #drain(): Promise<void> {
    const { lingerMs, batchBytes } = this.#options;
    try {
      while (this.#queue.length > 0 && !this.#stop.signal.aborted) {
        if (this.#heldBytes < batchBytes && this.#waiters.size === 0) {
          this.#hurry = new AbortController();
          await pause(lingerMs, AbortSignal.any([this.#hurry.signal, this.#stop.signal]));
        }
        const batch = this.#take(batchBytes);
        if (!(await this.#deliver(batch))) return;
        this.#done += batch.length;
        for (const line of batch) this.#heldBytes -= line.length + 1;
        for (const waiter of this.#waiters) {
          if (waiter.upTo > this.#done) continue;
          this.#waiters.delete(waiter);
          waiter.resolve();
        }
      }
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      for (const { reject } of this.#waiters) reject(this.#failure);
      this.#waiters.clear();
    } finally {
      this.#running = undefined;
    }
  }

  #take(mostBytes: number): string[] {
    let [bytes, count] = [0, 0];
    while (count < this.#queue.length) {
      bytes += (this.#queue[count]?.length ?? 0) + 1;
      if (count > 0 && bytes > mostBytes) break;
      count++;
    }
    const batch = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return batch;
  }

  /** False where we were stopped before it was answered. @throws GpulseError where nothing ever will be. */
  async #deliver(batch: readonly string[]): Promise<boolean> {
    const { write, log, random, shown } = this.#options;
    const body = `${batch.join("\n")}\n`;
    for (let attempt = 0; !this.#stop.signal.aborted; attempt++) {
      const result = await write(body, this.#stop.signal);
      if (result.outcome === "failed") throw new GpulseError("SINK_FAILED", result.problem);
      if (result.outcome !== "later") {
        if (attempt > 0 || this.#problem !== undefined) log.info("writing again", { to: shown });
        this.#problem = undefined;
      }
      if (result.outcome === "stored") {
        if (result.dropped > 0) this.#refuse(result.dropped, result.problem);
        return true;
      }
      if (result.outcome === "refused") return this.#apart(batch, result.problem);
      if (this.#stop.signal.aborted) return false;
      this.#retries++;
      if (this.#problem === undefined)
        log.warn("writing failed, trying again until it works", {
          to: shown,
          error: result.problem,
        });
      this.#problem = result.problem;
      await pause(result.afterMs ?? backoffMs(attempt, random), this.#stop.signal);
    }
    return false;
  }

  /** What is bad takes nothing else with it. A line that was stored already is stored again, as the same point. */
  async #apart(batch: readonly string[], problem: string): Promise<boolean> {
    if (batch.length === 1) {
      this.#refuse(1, problem);
      return true;
    }
    const middle = Math.ceil(batch.length / 2);
    return (
      (await this.#deliver(batch.slice(0, middle))) && (await this.#deliver(batch.slice(middle)))
    );
  }

  #refuse(lines: number, problem: string): void {
    const { log, shown, stopsAtRefusal } = this.#options;
    if (stopsAtRefusal)
      throw new GpulseError(
        "SINK_FAILED",
        `${problem}. Mend the data or the server; refused=skip leaves such lines out and counts them.`,
      );
    this.#refused += lines;
    if (this.#refusals.has(problem) || this.#refusals.size >= mostRefusals) return;
    this.#refusals.add(problem);
    log.error("lines are refused and lost", { to: shown, lines, error: problem });
  }
}
