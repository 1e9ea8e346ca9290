/**
 * The memory that queries share. A query reserves what it is about to allocate: too much for one query is refused for good,
 * too much for its client or for all of them together is refused for now. A reservation lasts until its response is sent.
 */
import type { SelectBudget } from "../model/select.ts";
import { executionError, QueryShedError } from "./errors.ts";

export interface QueryMemoryLimits {
  /** All queries together. */
  readonly totalBytes: number;
  /** Those of one client together. */
  readonly perClientBytes: number;
  readonly perQueryBytes: number;
}

/** Rules and other queries of the hub's own find this much beside what clients use. */
const ownShare = 0.25;
/** How long a query waits for memory that others hold. */
const patienceMs = 5_000;
/** Objects, two typed arrays and a key for grouping; measured 460 to 760 bytes. */
const seriesBytes = 800;
/** A label set whose texts the index holds, and the object that finds its samples; 600 with 7 labels. */
const selectedBytes = 600;
/** A value and whether it is present. */
const stepBytes = 9;
/** A time and a value. */
const pointBytes = 16;

export const bytesOfSteps = (series: number, steps: number): number =>
  series * (seriesBytes + steps * stepBytes);
export const bytesOfPoints = (series: number, points: number): number =>
  series * seriesBytes + points * pointBytes;

export interface QueryMemoryEvents {
  /** Bytes were given back; what held them is garbage now. */
  readonly onRelease?: (bytes: number) => void;
}

export class QueryMemory {
  readonly limits: QueryMemoryLimits;
  readonly #onRelease: (bytes: number) => void;
  readonly #byClient = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  #peakBytes = 0;
  /** Refused since the start: for their own size, and for want of room. */
  readonly refused = { tooLarge: 0, busy: 0 };

  constructor(limits: QueryMemoryLimits, { onRelease }: QueryMemoryEvents = {}) {
    this.limits = limits;
    this.#onRelease = onRelease ?? (() => undefined);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The most that was reserved at once. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  bytesOf(client: string | undefined): number {
    return client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
  }

  /** `client` is absent for the hub's own queries. */
  open(client?: string): Reservation {
    return new Reservation(this, client);
  }

  /** Why so much more cannot be reserved now; undefined where it can. */
  shortage(client: string | undefined, bytes: number): "client" | "all" | undefined {
    const { totalBytes, perClientBytes } = this.limits;
    if (client === undefined)
      return this.#bytes + bytes > totalBytes * (1 + ownShare) ? "all" : undefined;
    if (this.bytesOf(client) + bytes > perClientBytes) return "client";
    return this.#bytes + bytes > totalBytes ? "all" : undefined;
  }

  /** Only for reservations: negative bytes are given back. */
  move(client: string | undefined, bytes: number): void {
    this.#bytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
    if (client !== undefined) {
      const held = (this.#byClient.get(client) ?? 0) + bytes;
      if (held > 0) this.#byClient.set(client, held);
      else this.#byClient.delete(client);
    }
    if (bytes >= 0) return;
    this.#onRelease(-bytes);
    for (const look of this.#waiting) look();
  }

  /** Resolves when bytes were released, or after the timeout. */
  async waitForRelease(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, untilMs - performance.now()));
      signal?.addEventListener("abort", done);
      this.#waiting.add(done);
    });
  }
}

export class Reservation implements SelectBudget {
  readonly #memory: QueryMemory;
  readonly #client: string | undefined;
  #bytes = 0;
  #isClosed = false;

  constructor(memory: QueryMemory, client: string | undefined) {
    this.#memory = memory;
    this.#client = client;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Call it before the memory is allocated. @throws QueryError where the query needs too much, QueryShedError where others have it. */
  take(bytes: number): void {
    this.#refuseTooLarge(bytes);
    const shortage = this.#memory.shortage(this.#client, bytes);
    if (shortage !== undefined) this.#refuseBusy(shortage, bytes);
    this.#move(bytes);
  }

  /** The same; waits a moment for memory that others hold. */
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

  /** Label sets of so many series that a selection found. */
  series(count: number): Promise<void> {
    return this.reserve(count * selectedBytes);
  }

  hold(bytes: number): void {
    this.take(bytes);
  }

  give(bytes: number): void {
    this.#move(-Math.min(bytes, this.#bytes));
  }

  /** Gives everything but this much back. */
  shrinkTo(bytes: number): void {
    if (this.#bytes > bytes) this.give(this.#bytes - bytes);
  }

  close(): void {
    this.give(this.#bytes);
    this.#isClosed = true;
  }

  #move(bytes: number): void {
    // The client has hung up while its query was still running: nobody would give this back.
    if (this.#isClosed && bytes > 0) return;
    this.#bytes += bytes;
    this.#memory.move(this.#client, bytes);
  }

  #refuseTooLarge(bytes: number): void {
    const { perQueryBytes } = this.#memory.limits;
    if (this.#bytes + bytes <= perQueryBytes) return;
    this.#memory.refused.tooLarge++;
    throw executionError(
      `query would need about ${mebibytes(this.#bytes + bytes)}, the limit for one query is ${mebibytes(perQueryBytes)}: ` +
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
