/** What became of notifications: sent, failed or suppressed and by what. Bounded, kept across restarts. */
import type { StateMap } from "../../state/state-map.ts";

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

const kept = 2_000;

export class Deliveries {
  readonly #state: StateMap<Delivery>;
  #next: number;

  constructor(state: StateMap<Delivery>) {
    this.#state = state;
    this.#next = 1 + Math.max(0, ...[...state.entries()].map(([key]) => Number(key) || 0));
  }

  add(delivery: Delivery): void {
    this.#state.put(String(this.#next), delivery);
    this.#state.delete(String(this.#next - kept));
    this.#next++;
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
