/**
 * Limits how often a channel sends, with a token bucket. Short waits are waited out; longer ones are rejected with a retry-after.
 */
import { pause } from "../../base/retry.ts";
import { NotifyError } from "../route/notification.ts";
import type { Clock } from "../../base/clock.ts";
import type { Rate } from "./channel.ts";

/** A longer wait is rejected with a retry-after: an attempt ends after 30 s anyway. */
const longestWaitMs = 20_000;

export class RateLimit {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #tokens: number;
  #seenMs: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#seenMs = clock.monotonicMs();
  }

  /** @throws NotifyError if the wait is too long or was aborted. */
  async take(signal: AbortSignal): Promise<void> {
    this.#fill();
    const waitMs = Math.max(0, ((1 - this.#tokens) * 60_000) / this.#rate.perMinute);
    if (waitMs > longestWaitMs)
      throw new NotifyError("too many notifications at once: this one waits its turn", {
        retryable: true,
        retryAfterMs: Math.ceil(waitMs),
      });
    this.#tokens--;
    if (waitMs === 0) return;
    const given = await this.#wait(waitMs, signal);
    if (given) return;
    this.#tokens++;
    throw new NotifyError("given up while waiting its turn", { retryable: true });
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const more = ((nowMs - this.#seenMs) * this.#rate.perMinute) / 60_000;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + more);
    this.#seenMs = nowMs;
  }

  async #wait(waitMs: number, signal: AbortSignal): Promise<boolean> {
    await pause(waitMs, signal, this.#clock);
    return !signal.aborted;
  }
}
