/** The log of deliveries: sent, failed or suppressed, with the reason. Bounded; survives restarts. */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";

export interface NotificationDelivery {
  readonly timeMs: number;
  readonly receiver: string;
  /** Absent if suppressed. */
  readonly channel?: string | undefined;
  readonly outcome: "sent" | "failed" | "suppressed";
  readonly status: "firing" | "resolved";
  readonly group: Readonly<Record<string, string>>;
  readonly alerts: readonly string[];
  readonly attempts: number;
  /** Why it failed or was suppressed. */
  readonly why?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface DeliveryTotal {
  /** Empty if suppressed. */
  readonly channel: string;
  readonly outcome: NotificationDelivery["outcome"];
  readonly count: number;
}

const maxStoredDeliveries = 2_000;

export class DeliveryLog {
  readonly #state: StateMap<NotificationDelivery>;
  readonly #log: Log;
  readonly #totals = new Map<string, DeliveryTotal>();
  #next: number;

  constructor(state: StateMap<NotificationDelivery>, log: Log) {
    this.#state = state;
    this.#log = log;
    this.#next = 1 + Math.max(0, ...[...state.entries()].map(([key]) => Number(key) || 0));
  }

  /** Totals since the start of the process. */
  get totals(): readonly DeliveryTotal[] {
    return [...this.#totals.values()];
  }

  /** A failing write must not delay the delivery. */
  add(delivery: NotificationDelivery): void {
    const { channel = "", outcome } = delivery;
    const key = `${channel} ${outcome}`;
    const count = (this.#totals.get(key)?.count ?? 0) + 1;
    this.#totals.set(key, { channel, outcome, count });
    try {
      this.#state.put(String(this.#next), delivery);
      this.#state.delete(String(this.#next - maxStoredDeliveries));
      this.#next++;
    } catch (thrown) {
      this.#log.error("delivery log write failed", { error: formatError(thrown) });
    }
  }

  /** Newest first. */
  list(limit: number): readonly NotificationDelivery[] {
    const found: NotificationDelivery[] = [];
    for (let at = this.#next - 1; at > 0 && found.length < limit; at--) {
      const delivery = this.#state.get(String(at));
      if (delivery !== undefined) found.push(delivery);
      else if (at < this.#next - maxStoredDeliveries) break;
    }
    return found;
  }
}
