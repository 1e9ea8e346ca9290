/**
 * The memory that queries share. A query reserves memory before it allocates: it fails permanently if it needs too much
 * itself, and temporarily if its client or all queries together need too much. A reservation lasts until the response is
 * sent.
 */
import type { SelectBudget } from "../model/select.ts";
import { executionError, QueryShedError } from "./errors.ts";

export interface QueryMemoryLimits {
  /** Limit for all queries together. */
  readonly totalBytes: number;
  /** Limit for all queries of one client. */
  readonly perClientBytes: number;
  readonly perQueryBytes: number;
}

/** Extra share for rules and other queries of the hub, on top of the clients' limit. */
const ownShare = 0.25;
/** How long a query waits for memory that other queries hold. */
const patienceMs = 5_000;
/** Objects, two typed arrays and a key for grouping; measured 460 to 760 bytes. */
const seriesBytes = 800;
/** A label set whose strings the index holds, and the object that finds its samples; 600 with 7 labels. */
const selectedBytes = 600;
/** A value and its presence flag. */
const stepBytes = 9;
/** A timestamp and a value. */
const pointBytes = 16;

export const bytesOfSteps = (series: number, steps: number): number =>
  series * (seriesBytes + steps * stepBytes);
export const bytesOfPoints = (series: number, points: number): number =>
  series * seriesBytes + points * pointBytes;

/** How often a worker thread checks whether another thread released memory. */
const pollMs = 20;

/** A count of bytes or samples that the main thread and the query workers share. */
export class SharedCounter {
  readonly buffer: SharedArrayBuffer;
  readonly #cell: BigInt64Array;

  constructor(buffer = new SharedArrayBuffer(8)) {
    this.buffer = buffer;
    this.#cell = new BigInt64Array(buffer);
  }

  get value(): number {
    return Number(Atomics.load(this.#cell, 0));
  }

  add(count: number): void {
    Atomics.add(this.#cell, 0, BigInt(count));
  }
}

/** A reservation of the main thread for use by a worker thread. */
export interface SharedReservation {
  readonly limits: QueryMemoryLimits;
  readonly client: string | undefined;
  readonly total: SharedArrayBuffer;
  /** All bytes of the client; absent for the hub's own queries. */
  readonly ofClient: SharedArrayBuffer | undefined;
  readonly own: SharedArrayBuffer;
}

export interface QueryMemoryEvents {
  /** Called after memory was released, which is now garbage. */
  readonly onRelease?: (bytes: number) => void;
}

interface ClientBytes {
  readonly counter: SharedCounter;
  /** Number of reservations in use by worker threads, during which the counter must not be replaced. */
  shared: number;
}

export class QueryMemory {
  readonly limits: QueryMemoryLimits;
  readonly #onRelease: (bytes: number) => void;
  readonly #byClient = new Map<string, ClientBytes>();
  readonly #waiting = new Set<() => void>();
  readonly #total: SharedCounter;
  readonly #isShared: boolean;
  #peakBytes = 0;
  /** Number of failed reservations since startup: too large, or no memory available. */
  readonly refused = { tooLarge: 0, busy: 0 };

  /** @param shared in a worker thread, the counters of the main thread */
  constructor(
    limits: QueryMemoryLimits,
    { onRelease }: QueryMemoryEvents = {},
    shared?: SharedReservation,
  ) {
    this.limits = limits;
    this.#onRelease = onRelease ?? (() => undefined);
    this.#isShared = shared !== undefined;
    this.#total = new SharedCounter(shared?.total);
    if (shared?.client !== undefined)
      this.#byClient.set(shared.client, { counter: new SharedCounter(shared.ofClient), shared: 1 });
  }

  get bytes(): number {
    return this.#total.value;
  }

  /** The maximum reserved at once. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  bytesOf(client: string | undefined): number {
    return client === undefined ? 0 : (this.#byClient.get(client)?.counter.value ?? 0);
  }

  /** @param client absent for the hub's own queries */
  open(client?: string): Reservation {
    return new Reservation(this, client);
  }

  /** For reservations only: returns the counters that a worker thread changes until `unshare`. */
  share(client: string | undefined, own: SharedCounter): SharedReservation {
    const bytes = client === undefined ? undefined : this.#clientBytes(client);
    if (bytes !== undefined) bytes.shared++;
    return {
      limits: this.limits,
      client,
      total: this.#total.buffer,
      ofClient: bytes?.counter.buffer,
      own: own.buffer,
    };
  }

  /** For reservations only: the worker thread is done, and may have released memory. */
  unshare(client: string | undefined): void {
    const bytes = client === undefined ? undefined : this.#byClient.get(client);
    if (bytes !== undefined) bytes.shared--;
    this.#peakBytes = Math.max(this.#peakBytes, this.bytes);
    for (const look of this.#waiting) look();
  }

  /** Returns which limit prevents the reservation now; undefined if none does. */
  shortage(client: string | undefined, bytes: number): "client" | "all" | undefined {
    const { totalBytes, perClientBytes } = this.limits;
    if (client === undefined)
      return this.bytes + bytes > totalBytes * (1 + ownShare) ? "all" : undefined;
    if (this.bytesOf(client) + bytes > perClientBytes) return "client";
    return this.bytes + bytes > totalBytes ? "all" : undefined;
  }

  /** For reservations only: reserves bytes; negative bytes are released. */
  move(client: string | undefined, bytes: number): void {
    this.#total.add(bytes);
    if (bytes > 0) this.#peakBytes = Math.max(this.#peakBytes, this.bytes);
    if (client !== undefined) {
      const { counter, shared } = this.#clientBytes(client);
      counter.add(bytes);
      if (bytes < 0 && shared === 0 && counter.value <= 0) this.#byClient.delete(client);
    }
    if (bytes >= 0) return;
    this.#onRelease(-bytes);
    for (const look of this.#waiting) look();
  }

  /** Resolves when bytes were released, or after the timeout. */
  async waitForRelease(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    const leftMs = Math.max(0, untilMs - performance.now());
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, this.#isShared ? Math.min(pollMs, leftMs) : leftMs);
      signal?.addEventListener("abort", done);
      this.#waiting.add(done);
    });
  }

  #clientBytes(client: string): ClientBytes {
    const known = this.#byClient.get(client);
    if (known !== undefined) return known;
    const made = { counter: new SharedCounter(), shared: 0 };
    this.#byClient.set(client, made);
    return made;
  }
}

export class Reservation implements SelectBudget {
  readonly #memory: QueryMemory;
  readonly #client: string | undefined;
  #bytes = 0;
  /** The reserved bytes while a worker thread changes them. */
  #shared: SharedCounter | undefined;
  #isClosed = false;

  constructor(memory: QueryMemory, client: string | undefined, own?: SharedCounter) {
    this.#memory = memory;
    this.#client = client;
    this.#shared = own;
  }

  /** In a worker thread: opens the reservation that the main thread shares. */
  static openShared(shared: SharedReservation): Reservation {
    const memory = new QueryMemory(shared.limits, {}, shared);
    return new Reservation(memory, shared.client, new SharedCounter(shared.own));
  }

  get bytes(): number {
    return this.#shared?.value ?? this.#bytes;
  }

  /** Failed reservations; in a worker thread only those of this query. */
  get refused(): QueryMemory["refused"] {
    return this.#memory.refused;
  }

  /** Lets a worker thread reserve and release in its place, until `unshare`. */
  share(): SharedReservation {
    this.#shared = new SharedCounter();
    this.#shared.add(this.#bytes);
    return this.#memory.share(this.#client, this.#shared);
  }

  /** Called after the worker thread has ended its query or was lost; adds the worker's failed reservations. */
  unshare({ tooLarge, busy }: QueryMemory["refused"] = { tooLarge: 0, busy: 0 }): void {
    this.#bytes = this.bytes;
    this.#shared = undefined;
    this.#memory.refused.tooLarge += tooLarge;
    this.#memory.refused.busy += busy;
    this.#memory.unshare(this.#client);
    if (this.#isClosed) this.give(this.#bytes);
  }

  /**
   * Reserves memory; call it before the allocation.
   * @throws QueryError if the query needs too much, QueryShedError if other queries hold the memory.
   */
  take(bytes: number): void {
    this.#refuseTooLarge(bytes);
    const shortage = this.#memory.shortage(this.#client, bytes);
    if (shortage !== undefined) this.#refuseBusy(shortage, bytes);
    this.#move(bytes);
  }

  /** Like `take`, but waits a moment for memory that other queries hold. */
  async reserve(bytes: number, signal?: AbortSignal): Promise<void> {
    this.#refuseTooLarge(bytes);
    const untilMs = performance.now() + patienceMs;
    for (;;) {
      const shortage = this.#memory.shortage(this.#client, bytes);
      if (shortage === undefined) return this.#move(bytes);
      if (signal?.aborted === true || performance.now() >= untilMs)
        return this.#refuseBusy(shortage, bytes);
      await this.#memory.waitForRelease(untilMs, signal);
    }
  }

  /** Reserves memory for the label sets of this many selected series. */
  series(count: number): Promise<void> {
    return this.reserve(count * selectedBytes);
  }

  hold(bytes: number): void {
    this.take(bytes);
  }

  give(bytes: number): void {
    this.#move(-Math.min(bytes, this.bytes));
  }

  /** Releases everything but this much. */
  shrinkTo(bytes: number): void {
    if (this.bytes > bytes) this.give(this.bytes - bytes);
  }

  /** Memory that a worker thread still uses is released when it has ended. */
  close(): void {
    if (this.#shared === undefined) this.give(this.#bytes);
    this.#isClosed = true;
  }

  #move(bytes: number): void {
    // The client has disconnected while its query was running: this memory would never be released.
    if (this.#isClosed && bytes > 0) return;
    const whole = Math.round(bytes);
    if (this.#shared === undefined) this.#bytes += whole;
    else this.#shared.add(whole);
    this.#memory.move(this.#client, whole);
  }

  #refuseTooLarge(bytes: number): void {
    const { perQueryBytes } = this.#memory.limits;
    if (this.bytes + bytes <= perQueryBytes) return;
    this.#memory.refused.tooLarge++;
    throw executionError(
      `query would need about ${mebibytes(this.bytes + bytes)}, the limit for one query is ${mebibytes(perQueryBytes)}: ` +
        "narrow the selector, shorten the range or enlarge the step, or raise --memory",
    );
  }

  #refuseBusy(shortage: "client" | "all", bytes: number): never {
    this.#memory.refused.busy++;
    const { totalBytes, perClientBytes } = this.#memory.limits;
    throw shortage === "client"
      ? new QueryShedError(
          `your queries together would need about ${mebibytes(this.#memory.bytesOf(this.#client) + bytes)}, the limit for one client is ${mebibytes(perClientBytes)}: wait for the others to finish`,
          "share",
        )
      : new QueryShedError(
          `the queries now running use ${mebibytes(this.#memory.bytes)} of ${mebibytes(totalBytes)}, and this one needs ${mebibytes(bytes)} more: try again later`,
          "timeout",
        );
  }
}

const mebibytes = (bytes: number): string =>
  `${Math.ceil(bytes / 2 ** 20).toLocaleString("en-US")} MiB`;
