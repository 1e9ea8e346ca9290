/**
 * Turns on the event loop. Work that may take long runs in short steps and asks for a turn before each; between turns the
 * loop reads sockets and runs timers, and the client that has had least time goes next. So a flood of one client costs the
 * others their fair part of the processor and never a stall.
 */
import type { ClientKey } from "./client-key.ts";
import { FairOrder } from "./fair-order.ts";

/** `hub`: rules and upkeep, nobody's request. */
export type WorkClass = "hub" | "ingest" | "query" | "alert";

const weights: Readonly<Record<WorkClass, number>> = { hub: 4, ingest: 3, query: 3, alert: 1 };

/** How long steps may follow one another before the loop comes to anything else. */
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

  /** Resolves when it is the client's turn: at once on a loop that has time. */
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
      // Resumes when the step has run: ticks come after all promises that it has settled.
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

/** A process has one event loop. */
export const loopTurns = new LoopTurns();
