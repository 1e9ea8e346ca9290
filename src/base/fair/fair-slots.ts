/**
 * A bounded number of slots for concurrent work, with a bounded queue. Both are divided by fair share, and a free slot goes to the
 * waiting client that was served least.
 */
import type { ClientKey } from "./client-key.ts";
import { FairOrder } from "./fair-order.ts";
import { FairShare } from "./fair-share.ts";

export interface FairSlotsOptions {
  readonly slots: number;
  /** Length limit of the queue, for all clients together. */
  readonly maxWaiting: number;
}

/** `share`: the client already waits with as many as it may; `timeout`: no slot in time; `aborted`: the client disconnected. */
export class NoSlotError extends Error {
  readonly reason: "share" | "timeout" | "aborted";

  constructor(reason: NoSlotError["reason"]) {
    super(`no slot: ${reason}`);
    this.reason = reason;
  }
}

export interface EnterOptions {
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Absent for the hub's own work, which waits ahead of all clients, without a limit. */
  readonly client?: ClientKey | undefined;
}

interface Waiter {
  readonly start: () => void;
}

export class FairSlots {
  readonly #running: FairShare;
  readonly #waiting: FairShare;
  readonly #order = new FairOrder<"clients", Waiter>({ clients: 1 });
  readonly #own = new Set<Waiter>();
  #ownRunning = 0;

  constructor({ slots, maxWaiting }: FairSlotsOptions) {
    this.#running = new FairShare(slots);
    this.#waiting = new FairShare(maxWaiting);
  }

  get running(): number {
    return this.#running.used + this.#ownRunning;
  }

  /**
   * Resolves with the function that releases the slot.
   * @throws NoSlotError
   */
  async enter({ client, waitMs, signal }: EnterOptions): Promise<() => void> {
    if (signal?.aborted === true) throw new NoSlotError("aborted");
    if (this.#mayRun(client)) return this.#start(client);
    if (client !== undefined && !this.#waiting.allows(client)) throw new NoSlotError("share");
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        if (client !== undefined) this.#waiting.give(client);
      };
      const waiter: Waiter = {
        start: () => {
          leave();
          resolve(this.#start(client));
        },
      };
      const fail = (reason: NoSlotError["reason"]): void => {
        if (client === undefined) this.#own.delete(waiter);
        else this.#order.remove("clients", client, waiter);
        leave();
        reject(new NoSlotError(reason));
      };
      const abort = (): void => fail("aborted");
      const timer = setTimeout(() => fail("timeout"), waitMs);
      signal?.addEventListener("abort", abort);
      if (client === undefined) this.#own.add(waiter);
      else {
        this.#waiting.take(client);
        this.#order.add("clients", client, waiter);
      }
    });
  }

  #mayRun(client: ClientKey | undefined): boolean {
    if (this.running >= this.#running.capacity) return false;
    return client === undefined || this.#running.allows(client);
  }

  #start(client: ClientKey | undefined): () => void {
    if (client === undefined) this.#ownRunning++;
    else this.#running.take(client);
    return () => {
      if (client === undefined) this.#ownRunning--;
      else this.#running.give(client);
      this.#fill();
    };
  }

  #fill(): void {
    while (this.running < this.#running.capacity) {
      const [own] = this.#own;
      if (own !== undefined) {
        this.#own.delete(own);
        own.start();
        continue;
      }
      const served = this.#order.next((client) => this.#running.allows(client));
      if (served === undefined) return;
      served.charge(1);
      served.item.start();
    }
  }
}
