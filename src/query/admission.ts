/**
 * Limits the number of concurrent queries and the samples they hold together. Slots and the queue are shared fairly
 * between clients; the hub's own queries (rules) have priority over all of them.
 */
import type { ClientKey } from "../base/fair/client-key.ts";
import { FairSlots, NoSlotError } from "../base/fair/fair-slots.ts";
import { executionError, QueryError, QueryShedError } from "./errors.ts";
import { SharedCounter } from "./memory.ts";

export interface QueryAdmissionOptions {
  readonly maxConcurrent: number;
  readonly maxSamplesTogether: number;
  /** Maximum number of waiting client queries; 1,000 by default. */
  readonly maxWaiting?: number;
}

const defaultMaxWaiting = 1_000;

/** The samples that all running queries hold, in the main thread and in query workers. */
export class HeldSamples {
  readonly max: number;
  readonly #all: SharedCounter;
  readonly #own: SharedCounter | undefined;

  /** @param own counts the samples of one query, so that they can be released if its worker is lost */
  constructor(max: number, all = new SharedCounter(), own?: SharedCounter) {
    this.max = max;
    this.#all = all;
    this.#own = own;
  }

  get buffer(): SharedArrayBuffer {
    return this.#all.buffer;
  }

  hold(samples: number): void {
    this.#own?.add(samples);
    this.#all.add(samples);
    if (this.#all.value <= this.max) return;
    throw executionError(
      "the queries now running would load too many samples into memory together; try again when others have finished",
    );
  }

  release(samples: number): void {
    this.#own?.add(-samples);
    this.#all.add(-samples);
  }
}

export class QueryAdmission {
  private readonly slots: FairSlots;
  readonly samples: HeldSamples;

  constructor(options: QueryAdmissionOptions) {
    this.samples = new HeldSamples(options.maxSamplesTogether);
    this.slots = new FairSlots({
      slots: options.maxConcurrent,
      maxWaiting: options.maxWaiting ?? defaultMaxWaiting,
    });
  }

  get runningQueries(): number {
    return this.slots.running;
  }

  /**
   * Resolves with the function that releases the slot.
   * @param client absent for the hub's own queries
   */
  async enter(waitMs: number, signal?: AbortSignal, client?: ClientKey): Promise<() => void> {
    try {
      return await this.slots.enter({ waitMs, signal, client });
    } catch (thrown) {
      if (!(thrown instanceof NoSlotError)) throw thrown;
      if (thrown.reason === "aborted")
        throw new QueryError("canceled", "query was canceled in query queue");
      throw thrown.reason === "share"
        ? new QueryShedError("this client has as many queries waiting as one may have", "share")
        : new QueryShedError("query timed out in query queue", "timeout");
    }
  }
}
