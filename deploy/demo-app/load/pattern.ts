// The request rate over the simulated day: quiet at night, busy at noon, and short bursts. A day may take minutes. Arrivals are
// Poisson; randomness is an argument.

export interface Pattern {
  /** Mean over a day without its bursts, in requests per second. */
  readonly rate: number;
  readonly daySeconds: number;
  /** 0: the same all day; 1: nothing at midnight, double at noon. */
  readonly swing: number;
  readonly burstsPerDay: number;
  /** The factor by which a burst multiplies the rate. */
  readonly burstFactor: number;
  /** Share of the day that one burst takes. */
  readonly burstShare: number;
}

/** The default; standard-load.test.ts shows the resulting load of the GPUs. */
export const STANDARD_PATTERN: Pattern = {
  rate: 8,
  daySeconds: 600,
  swing: 0.7,
  burstsPerDay: 4,
  burstFactor: 2.5,
  burstShare: 0.01,
};

export function rateAt(pattern: Pattern, seconds: number): number {
  const { rate, daySeconds, swing, burstsPerDay, burstFactor, burstShare } = pattern;
  const day = (((seconds / daySeconds) % 1) + 1) % 1;
  const daily = rate * (1 - swing * Math.cos(2 * Math.PI * day));
  // Each burst is in the middle of its part of the day.
  const part = (day * burstsPerDay) % 1;
  const isBurst = burstsPerDay > 0 && Math.abs(part - 0.5) * 2 < burstShare * burstsPerDay;
  return isBurst ? daily * burstFactor : daily;
}

/**
 * The time of the next request after `seconds`; Infinity if there is none. By thinning: candidates arrive at the highest possible
 * rate, and each is accepted with the ratio of the current rate to it, which is exact even where the rate jumps.
 */
export function nextArrival(pattern: Pattern, seconds: number, random: () => number): number {
  const highest = pattern.rate * (1 + pattern.swing) * Math.max(1, pattern.burstFactor);
  if (highest <= 0) return Infinity;
  let due = seconds;
  do {
    due += -Math.log(1 - random()) / highest;
  } while (random() * highest > rateAt(pattern, due));
  return due;
}

/** Arrivals in order, independent of earlier responses: this makes the loop open. */
export class Schedule {
  readonly #random: () => number;
  #pattern: Pattern;
  #due: number;

  constructor(pattern: Pattern, fromSeconds: number, random: () => number) {
    this.#pattern = pattern;
    this.#random = random;
    this.#due = nextArrival(pattern, fromSeconds, random);
  }

  get pattern(): Pattern {
    return this.#pattern;
  }

  get nextSeconds(): number {
    return this.#due;
  }

  /** All requests due by now, each with its due time. */
  take(nowSeconds: number): number[] {
    const due: number[] = [];
    while (this.#due <= nowSeconds) {
      due.push(this.#due);
      this.#due = nextArrival(this.#pattern, this.#due, this.#random);
    }
    return due;
  }

  /** Changes the pattern from now on; pending arrivals are dropped. */
  change(pattern: Pattern, nowSeconds: number): void {
    this.#pattern = pattern;
    this.#due = nextArrival(pattern, nowSeconds, this.#random);
  }
}
