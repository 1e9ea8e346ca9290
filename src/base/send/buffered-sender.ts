/**
 * A BatchSender with a bounded queue in memory. When the queue is full, `add` waits (backpressure) or the oldest item is dropped
 * and counted; an item that is being sent is never dropped.
 */
import { type Clock, systemClock } from "../clock.ts";
import { type BackoffOptions, pause } from "../retry.ts";
import {
  BatchSender,
  type BatchSenderOptions,
  type SendQueue,
  type SendStats,
} from "./batch-sender.ts";

export interface BufferedSenderOptions<Item> extends Pick<
  BatchSenderOptions<Item>,
  "name" | "send" | "random" | "log" | "refusalError" | "maxRetryAfterMs"
> {
  readonly clock?: Clock;
  readonly backoff?: BackoffOptions;
  readonly batchItems?: number;
  readonly batchBytes?: number;
  /**
   * Called with each batch that is full while an earlier one is being sent, in order; `send` gets the same array. Not together
   * with `maxItems`.
   */
  readonly prepare?: (batch: readonly Item[]) => void;
  /** Size of an item in the unit of the bounds; 1 if absent. */
  readonly sizeOf?: (item: Item) => number;
  /** How long the first item of a batch waits for more. */
  readonly lingerMs?: number;
  /** Beyond this many bytes `add` waits. */
  readonly heldBytes?: number;
  /** Beyond this many items the oldest is dropped. */
  readonly maxItems?: number;
}

export interface BufferedSenderStats extends SendStats {
  readonly waiting: number;
  /** Items dropped because the queue was full, or not sent by the end of `close`. */
  readonly dropped: number;
}

/** Batches prepared while another is being sent: enough for a pool of four threads on two cores, and no megabytes. */
const mostPrepared = 3;

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class BufferedSender<Item> {
  readonly #options: BufferedSenderOptions<Item>;
  readonly #sender: BatchSender<Item>;
  readonly #waiters = new Set<Waiter>();
  #items: Item[] = [];
  /** How many of the first `#items` are being sent. */
  #inFlight = 0;
  /** Prepared batches, which follow those in flight in `#items`. */
  readonly #prepared: (readonly Item[])[] = [];
  /** Where the next batch begins in `#items`, up to where it has been measured, and the bytes between. */
  #nextStart = 0;
  #measured = 0;
  #measuredBytes = 0;
  #heldBytes = 0;
  #added = 0;
  #dropped = 0;
  #isFull = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};
  #hurry = new AbortController();

  constructor(options: BufferedSenderOptions<Item>) {
    this.#options = options;
    const queue: SendQueue<Item> = {
      isPersistent: false,
      readable: (signal) => this.#readable(signal),
      linger: (signal) => this.#linger(signal),
      read: () => this.#read(),
      acknowledge: (items) => this.#acknowledge(items),
    };
    const { clock = systemClock } = options;
    this.#sender = new BatchSender({
      ...options,
      clock,
      queue,
      onFailure: (error) => this.#fail(error),
    });
    this.#sender.start();
  }

  stats(): BufferedSenderStats {
    return { ...this.#sender.stats(), waiting: this.#items.length, dropped: this.#dropped };
  }

  /**
   * Queues the items immediately; if there is no room for more, returns a promise that resolves when there is. Rejects
   * once the sender has failed.
   */
  add(items: readonly Item[]): Promise<void> | undefined {
    const { sizeOf = () => 1, heldBytes = Infinity } = this.#options;
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    for (const item of items) {
      this.#items.push(item);
      this.#heldBytes += sizeOf(item);
    }
    this.#added += items.length;
    this.#dropOldest();
    this.#prepareFull();
    // Aborting an already aborted controller would still create an exception on each call.
    if (this.#isBatch && !this.#hurry.signal.aborted) this.#hurry.abort();
    this.#wake();
    return this.#heldBytes > heldBytes
      ? this.#until(this.#added - Math.floor(this.#items.length / 2))
      : undefined;
  }

  /** Resolves when everything added so far was accepted or refused. */
  async flush(signal?: AbortSignal): Promise<void> {
    const done = this.#until(this.#added, signal);
    this.#hurry.abort();
    await done;
  }

  /** Sends the waiting items for at most `withinMs`; the rest is dropped, counted and logged. */
  async close(withinMs: number): Promise<void> {
    const { log, name } = this.#options;
    await this.#sender.close(withinMs);
    const left = this.#items.length;
    if (left === 0) return;
    this.#dropped += left;
    this.#items = [];
    this.#prepared.length = 0;
    this.#heldBytes = 0;
    log.error("closed before everything was sent", { to: name, lost: left });
  }

  get #isBatch(): boolean {
    const { batchItems = Infinity, batchBytes = Infinity } = this.#options;
    return this.#items.length >= batchItems || this.#heldBytes >= batchBytes;
  }

  #dropOldest(): void {
    const { maxItems = Infinity, log, name } = this.#options;
    const over = this.#items.length - maxItems;
    if (over <= 0) return;
    this.#remove(this.#items.splice(this.#inFlight, over));
    this.#dropped += over;
    if (!this.#isFull) log.error("queue is full, dropping the oldest", { to: name, max: maxItems });
    this.#isFull = true;
  }

  async #readable(signal: AbortSignal): Promise<void> {
    if (this.#items.length > 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#wake = () => {};
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async #linger(signal: AbortSignal): Promise<void> {
    const { lingerMs = 0, clock = systemClock } = this.#options;
    if (lingerMs === 0 || this.#isBatch || this.#waiters.size > 0) return;
    this.#hurry = new AbortController();
    await pause(lingerMs, AbortSignal.any([this.#hurry.signal, signal]), clock);
  }

  /** Prepares the batches that are full; each ends where `#read` would end it. */
  #prepareFull(): void {
    const {
      prepare,
      batchItems = Infinity,
      batchBytes = Infinity,
      sizeOf = () => 1,
    } = this.#options;
    if (prepare === undefined || this.#inFlight === 0) return;
    while (this.#prepared.length < mostPrepared && this.#measured < this.#items.length) {
      const item = this.#items[this.#measured];
      const bytes = item === undefined ? 0 : sizeOf(item);
      const count = this.#measured - this.#nextStart;
      if (count > 0 && (count >= batchItems || this.#measuredBytes + bytes > batchBytes)) {
        const batch = this.#items.slice(this.#nextStart, this.#measured);
        this.#nextStart = this.#measured;
        this.#measuredBytes = 0;
        this.#prepared.push(batch);
        prepare(batch);
        continue;
      }
      this.#measuredBytes += bytes;
      this.#measured++;
    }
  }

  #read(): readonly Item[] {
    const prepared = this.#prepared.shift();
    if (prepared !== undefined) {
      this.#inFlight = prepared.length;
      this.#prepareFull();
      return prepared;
    }
    const { batchItems = Infinity, batchBytes = Infinity, sizeOf = () => 1 } = this.#options;
    let bytes = 0;
    const end = this.#items.findIndex((item, at) => {
      bytes += sizeOf(item);
      return at > 0 && (at >= batchItems || bytes > batchBytes);
    });
    const batch = end === -1 ? [...this.#items] : this.#items.slice(0, end);
    this.#inFlight = batch.length;
    [this.#nextStart, this.#measured, this.#measuredBytes] = [batch.length, batch.length, 0];
    this.#prepareFull();
    return batch;
  }

  #acknowledge(items: readonly Item[]): void {
    this.#remove(this.#items.splice(0, items.length));
    this.#inFlight -= items.length;
    this.#nextStart -= items.length;
    this.#measured -= items.length;
    this.#isFull = false;
    const done = this.#added - this.#items.length;
    for (const waiter of this.#waiters) {
      if (waiter.upTo > done) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #remove(items: readonly Item[]): void {
    const { sizeOf = () => 1 } = this.#options;
    for (const item of items) this.#heldBytes -= sizeOf(item);
  }

  /** Waits until this many of the items added were accepted, refused or dropped. */
  async #until(upTo: number, signal?: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#added - this.#items.length >= upTo) return;
    let stopped = (): void => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { upTo, resolve, reject };
        this.#waiters.add(waiter);
        stopped = () => {
          if (this.#waiters.delete(waiter)) reject(new Error("stopped before everything was sent"));
        };
        signal?.addEventListener("abort", stopped, { once: true });
        if (signal?.aborted === true) stopped();
      });
    } finally {
      // The signal lives as long as the pipe, which flushes at every checkpoint.
      signal?.removeEventListener("abort", stopped);
    }
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#waiters) reject(error);
    this.#waiters.clear();
  }
}
