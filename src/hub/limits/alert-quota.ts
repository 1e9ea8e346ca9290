/**
 * How many alerts from outside the hub accepts: of one request, of one client per second, and active at once. Alerts of the
 * hub's own rules are not counted here.
 */
import type { ClientKey } from "../../base/fair/client-key.ts";
import { FairShare } from "../../base/fair/fair-share.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { TokenBuckets, defaultRates } from "./rate.ts";

/** Prometheus sends 256 at a time. */
const maxAlertsPerRequest = 1_000;
export const alertBodyBytes = 2 * 2 ** 20;
/** An alert is an object with its labels and its annotations. */
export const maxAlertOpenings = 4 * maxAlertsPerRequest;
const maxActive = 20_000;
/** One alert takes up to 0.3 ms to record, group and write to the state file. */
const perTurn = 20;
const sweepEveryMs = 10_000;

export interface QuotaRefusal {
  readonly status: 413 | 429;
  readonly sentence: string;
  readonly retryAfterSeconds?: number;
}

export interface AlertQuotaOptions {
  readonly alertsPerSecond?: number;
  readonly maxActive?: number;
}

export class AlertQuota {
  readonly #buckets: TokenBuckets;
  readonly #share: FairShare;
  readonly #active = new Map<string, ClientKey>();
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(options: AlertQuotaOptions = {}) {
    const { alertsPerSecond = defaultRates.alertsPerSecond } = options;
    this.#buckets = new TokenBuckets({ ...defaultRates, alertsPerSecond });
    this.#share = new FairShare(options.maxActive ?? maxActive);
  }

  get active(): number {
    return this.#active.size;
  }

  /** Returns why a request with this many alerts is refused now; undefined if it is accepted. */
  refusal(client: ClientKey, count: number, nowMs: number): QuotaRefusal | undefined {
    if (count > maxAlertsPerRequest)
      return {
        status: 413,
        sentence: `a request may contain ${maxAlertsPerRequest} alerts, this one has ${count}: send fewer at a time`,
      };
    const { waitSeconds } = this.#buckets.take("alertsPerSecond", keyOf(client), nowMs, count);
    if (waitSeconds === 0) return undefined;
    return {
      status: 429,
      sentence:
        "this client exceeds the rate limit for alerts: retry later, or raise hub.limits.alerts_per_second",
      retryAfterSeconds: Math.ceil(waitSeconds),
    };
  }

  /** Counts an alert as active; false if its client is at its limit. */
  activate(client: ClientKey, fingerprint: string): boolean {
    if (this.#active.has(fingerprint)) return true;
    if (!this.#share.allows(client)) return false;
    this.#share.take(client);
    this.#active.set(fingerprint, client);
    return true;
  }

  /** Stops counting alerts that no longer fire. Looks at most every ten seconds. */
  sweep(isActive: (fingerprint: string) => boolean, nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < sweepEveryMs) return;
    this.#sweptMs = nowMs;
    for (const [fingerprint, client] of this.#active) {
      if (isActive(fingerprint)) continue;
      this.#active.delete(fingerprint);
      this.#share.give(client);
    }
  }
}

const keyOf = ({ principal, address }: ClientKey): string => `${principal} ${address}`;

/** Handles alerts in small batches, yielding to the event loop in between. */
export async function processAlertsFairly<Alert>(
  alerts: readonly Alert[],
  client: ClientKey,
  handle: (some: readonly Alert[]) => void,
): Promise<void> {
  for (let from = 0; from < alerts.length; from += perTurn) {
    await loopTurns.turn("alert", client);
    handle(alerts.slice(from, from + perTurn));
  }
}
