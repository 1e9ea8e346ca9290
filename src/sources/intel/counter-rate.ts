/** Awake time from counters of idle time. Pure; the first look has nothing to compare with. */
import type { Reading } from "../../machine/sysfs/read-result.ts";
import { failed, present } from "../../machine/sysfs/read-result.ts";

/** Keeps the last two looks, so that a tick that asks twice gets the same answer. */
export class Difference {
  #last: { readonly timeMs: number; readonly count: number } | undefined;
  #rate: { readonly timeMs: number; readonly perSecond: Reading<number> } | undefined;

  /** By how much the counter grew per second. A counter that went back was reset: that interval tells nothing. */
  perSecond(timeMs: number, count: number): Reading<number> {
    if (this.#rate?.timeMs === timeMs) return this.#rate.perSecond;
    const last = this.#last;
    const isUsable = last !== undefined && timeMs > last.timeMs && count >= last.count;
    const perSecond: Reading<number> = isUsable
      ? present(((count - last.count) * 1_000) / (timeMs - last.timeMs))
      : failed;
    this.#last = { timeMs, count };
    this.#rate = { timeMs, perSecond };
    return perSecond;
  }
}

/** The counters of one card by name: they outlive the channels, which are made anew every minute. */
export class Differences {
  readonly #byName = new Map<string, Difference>();

  of(name: string): Difference {
    const known = this.#byName.get(name) ?? new Difference();
    this.#byName.set(name, known);
    return known;
  }
}
