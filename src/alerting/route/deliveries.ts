/** What became of notifications: sent, failed or suppressed and by what. Bounded, kept across restarts. */
import { sayError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";

export interface Delivery {
  readonly timeMs: number;
  readonly receiver: string;
  /** Absent where nothing was to be sent. */
  readonly channel?: string | undefined;
  readonly outcome: "sent" | "failed" | "suppressed";
  readonly status: "firing" | "resolved";
  readonly group: Readonly<Record<string, string>>;
  readonly alerts: readonly string[];
  readonly attempts: number;
  /** Why it failed, or what suppressed it. */
  readonly why?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface Total {
  /** Empty where nothing was to be sent. */
  readonly channel: string;
  readonly outcome: Delivery["outcome"];
  readonly count: number;
}

const kept = 2_000;

export class Deliveries {
  readonly #state: StateMap<Delivery>;
  readonly #log: Log;
  readonly #totals = new Map<string, Total>();
  #next: number;

  constructor(state: StateMap<Delivery>, log: Log) {
    this.#state = state;
    this.#log = log;
    this.#next = 1 + Math.max(0, ...[...state.entries()].map(([key]) => Number(key) || 0));
  }

  /** Since the start. */
  get totals(): readonly Total[] {
    return [...this.#totals.values()];
  }

  /** The history must not hold up what it tells of. */
  add(delivery: Delivery): void {
    const { channel = "", outcome } = delivery;
    const key = `${channel} ${outcome}`;
    const count = (this.#totals.get(key)?.count ?? 0) + 1;
    this.#totals.set(key, { channel, outcome, count });
    try {
      this.#state.put(String(this.#next), delivery);
      this.#state.delete(String(this.#next - kept));
      this.#next++;
    } catch (thrown) {
      this.#log.error("a delivery cannot be kept in the history", { trouble: sayError(thrown) });
    }
  }

  /** Newest first. */
  list(limit: number): readonly Delivery[] {
    const found: Delivery[] = [];
    for (let at = this.#next - 1; at > 0 && found.length < limit; at--) {
      const delivery = this.#state.get(String(at));
      if (delivery !== undefined) found.push(delivery);
      else if (at < this.#next - kept) break;
    }
    return found;
  }
}
