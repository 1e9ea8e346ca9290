/**
 * The usual value at this hour of the day, learned from at least two days: rooms are warmer in the afternoon. Constant memory.
 */
import { Spread } from "./spread.ts";

const hourMs = 3_600_000;
const hours = 24;
/** The hour of a single day is not a season. */
const leastDays = 2;

interface Hour {
  readonly spread: Spread;
  days: number;
  lastDay: number;
}

export class Seasonal {
  readonly #hours: (Hour | undefined)[] = Array.from({ length: hours });
  readonly #leastSigma: number;

  constructor(leastSigma: number) {
    this.#leastSigma = leastSigma;
  }

  add(timeMs: number, value: number): void {
    const at = Math.floor(timeMs / hourMs);
    const day = Math.floor(at / hours);
    const hour = (this.#hours[at % hours] ??= {
      spread: new Spread(this.#leastSigma),
      days: 0,
      lastDay: -1,
    });
    if (day !== hour.lastDay) hour.days += 1;
    hour.lastDay = day;
    hour.spread.add(value);
  }

  /** The median of this hour on other days; undefined with too few days. */
  at(timeMs: number): number | undefined {
    const at = Math.floor(timeMs / hourMs);
    const hour = this.#hours[at % hours];
    if (hour === undefined) return undefined;
    const today = hour.lastDay === Math.floor(at / hours) ? 1 : 0;
    return hour.days - today >= leastDays ? hour.spread.median : undefined;
  }
}
