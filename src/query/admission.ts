/**
 * Bounds the queries that run at once and the samples they hold together. Slots and places in the queue are divided fairly
 * between clients; the hub's own queries (rules) go before all of them.
 */
import type { ClientKey } from "../base/fair/client-key.ts";
import { FairSlots, NoSlotError } from "../base/fair/fair-slots.ts";
import { executionError, QueryError, QueryShedError } from "./errors.ts";

export interface QueryAdmissionOptions {
  readonly maxConcurrent: number;
  readonly maxSamplesTogether: number;
  /** Queries of clients that may wait; 1,000 where absent. */
  readonly maxWaiting?: number;
}

const defaultMaxWaiting = 1_000;

export class QueryAdmission {
  private readonly options: QueryAdmissionOptions;
  private readonly slots: FairSlots;
  private samples = 0;

  constructor(options: QueryAdmissionOptions) {
    this.options = options;
    this.slots = new FairSlots({
      slots: options.maxConcurrent,
      maxWaiting: options.maxWaiting ?? defaultMaxWaiting,
    });
  }

  get runningQueries(): number {
    return this.slots.running;
  }

  /**
   * Resolves with the function that gives the slot back.
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

  hold(samples: number): void {
    this.samples += samples;
    if (this.samples <= this.options.maxSamplesTogether) return;
    throw executionError(
      "the queries now running would load too many samples into memory together; try again when others have finished",
    );
  }

  release(samples: number): void {
    this.samples -= samples;
  }
}
