/**
 * Schedules turns on the event loop. Long work runs in short steps and waits for a turn before each; between turns the loop reads
 * sockets and runs timers, and the client with the least time so far goes next. A flood of requests from one client costs the
 * others their fair part of the processor, but never stalls them.
 */
import type { ClientKey } from "./client-key.ts";
import { FairOrder } from "./fair-order.ts";

/** `hub`: rules and maintenance, not on behalf of a client. */
export type WorkClass = "hub" | "ingest" | "query" | "alert";

const weights: Readonly<Record<WorkClass, number>> = { hub: 4, ingest: 3, query: 3, alert: 1 };

/** How long steps may run in a row before the loop handles anything else. */
const roundMs = 10;

export const hubClient: ClientKey = { principal: "", address: "" };

export class LoopTurns {
  readonly #order = new FairOrder<WorkClass, () => void>(weights);
  readonly #nowMs: () => number;
  #roundBeganMs: number | undefined;
  #isScheduled = false;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get waiting(): number {
    return this.#order.waiting;
  }

  /** Resolves when it is the client's turn: immediately if the loop is not busy. */
  turn(workClass: WorkClass, client: ClientKey = hubClient): Promise<void> {
    const nowMs = this.#nowMs();
    this.#schedule();
    this.#roundBeganMs ??= nowMs;
    if (this.#order.waiting === 0 && nowMs - this.#roundBeganMs < roundMs) return Promise.resolve();
    return new Promise((resolve) => this.#order.add(workClass, client, resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#serve());
  }

  async #serve(): Promise<void> {
    this.#isScheduled = false;
    this.#roundBeganMs = undefined;
    const beganMs = this.#nowMs();
    for (let nowMs = beganMs; nowMs - beganMs < roundMs;) {
      const served = this.#order.next();
      if (served === undefined) return;
      served.item();
      // Resumes after the step has run: the tick queue runs after all promises that the step settled.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const afterMs = this.#nowMs();
      served.charge(afterMs - nowMs);
      nowMs = afterMs;
    }
    if (this.#order.waiting > 0) {
      this.#roundBeganMs = beganMs;
      this.#schedule();
    }
  }
}

/** One instance, because a process has one event loop. */
export const loopTurns = new LoopTurns();
