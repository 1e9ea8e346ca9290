/** Awake time from counters of idle time. Pure; the first look has nothing to compare with. */
import { failed, present, type ReadResult } from "../../machine/sysfs/read-result.ts";

/** Keeps the last two looks, so that a tick that asks twice gets the same answer. */
export class CounterRate {
  #last: { readonly timeMs: number; readonly count: number } | undefined;
  #rate: { readonly timeMs: number; readonly perSecond: ReadResult<number> } | undefined;

  /** By how much the counter grew per second. A counter that went back was reset: that interval tells nothing. */
  perSecond(timeMs: number, count: number): ReadResult<number> {
    if (this.#rate?.timeMs === timeMs) return this.#rate.perSecond;
    const last = this.#last;
    const isUsable = last !== undefined && timeMs > last.timeMs && count >= last.count;
    const perSecond: ReadResult<number> = isUsable
      ? present(((count - last.count) * 1_000) / (timeMs - last.timeMs))
      : failed;
    this.#last = { timeMs, count };
    this.#rate = { timeMs, perSecond };
    return perSecond;
  }
}

/** The counters of one card by name: they outlive the channels, which are made anew every minute. */
export class CounterRates {
  readonly #byName = new Map<string, CounterRate>();

  of(name: string): CounterRate {
    const known = this.#byName.get(name) ?? new CounterRate();
    this.#byName.set(name, known);
    return known;
  }
}
