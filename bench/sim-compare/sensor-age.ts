/**
 * How old the temperature in a reading is. The driver copies all registers together every 100 ms, and a poll every 50 ms sees the
 * copy up to 50 ms later; the sensor is sampled every 100 ms by a timer of its own. The timers drift against each other by a few
 * parts per million, so the age is steady for minutes and then jumps: by 100 ms where the sample slips from before the copy to
 * after it, by 50 ms where the copy slips past a poll. On a card whose kernel times are recorded it was 0 to 5, 45 to 50 and 100 ms.
 * No column gives the age. It is found for the whole trace at once, as the course with those jumps at which all readings agree best
 * with the simulated die. Work that switches within 100 ms moves the die by 10 °C, so 30 ms of age are 3 °C there.
 */
import type { TraceRow } from "./trace.ts";

const stepMs = 5;
const oldestMs = 150;
const ages = oldestMs / stepMs + 1;
/** The slips of one timer past another, in steps of the age, and how far from the nominal a jump may be. */
const slipSteps = [50 / stepMs, 100 / stepMs];
const slipSlack = 2;
/** What readings differ by from a die simulated with the right age. */
const readingSigma = 1.5;
/** Costs as negative log-likelihoods: a slip happens once in minutes, a drift by one step several times a minute. */
const slipCost = 16;
const driftCost = 6;

export class SensorAge {
  readonly #fromMs: readonly number[];
  readonly #agesMs: readonly number[];

  constructor(fromMs: readonly number[], agesMs: readonly number[]) {
    this.#fromMs = fromMs;
    this.#agesMs = agesMs;
  }

  /** The same age throughout. */
  static steady(ageMs: number): SensorAge {
    return new SensorAge([Number.NEGATIVE_INFINITY], [ageMs]);
  }

  at(timeMs: number): number {
    let [low, high] = [0, this.#fromMs.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#fromMs[middle] ?? 0) <= timeMs) low = middle;
      else high = middle - 1;
    }
    return this.#agesMs[low] ?? 0;
  }

  /** The ages in turn, each once. */
  get course(): number[] {
    return this.#agesMs.filter((ageMs, index) => ageMs !== this.#agesMs[index - 1]);
  }
}

/** `celsiusAt` is the simulated die at an instant; `rows` are those in which the registers were refreshed. */
export function findSensorAge(
  rows: readonly TraceRow[],
  celsiusAt: (timeMs: number) => number,
): SensorAge {
  if (rows.length === 0) return SensorAge.steady(0);
  let cost = new Float64Array(ages);
  const origins: Int16Array[] = [];
  for (const { timeMs, celsius } of rows) {
    const next = new Float64Array(ages);
    const from = new Int16Array(ages);
    for (let age = 0; age < ages; age++) {
      let best = cost[age] ?? 0;
      from[age] = age;
      for (const { age: before, cost: change } of changesTo[age] ?? []) {
        const changed = (cost[before] ?? 0) + change;
        if (changed < best) [best, from[age]] = [changed, before];
      }
      const off = (celsius - celsiusAt(timeMs - age * stepMs)) / readingSigma;
      next[age] = best + Math.min(4.5, (off * off) / 2);
    }
    cost = next;
    origins.push(from);
  }
  let age = cost.indexOf(cost.reduce((left, right) => Math.min(left, right)));
  const found: number[] = [];
  for (let row = rows.length - 1; row >= 0; row--) {
    found[row] = age * stepMs;
    age = origins[row]?.[age] ?? age;
  }
  return new SensorAge(
    rows.map(({ timeMs }) => timeMs),
    found,
  );
}

/** From which other ages the age may have come, and at what cost. */
const changesTo = Array.from({ length: ages }, (_, age) =>
  Array.from({ length: ages }, (__, before) => {
    const steps = Math.abs(age - before);
    if (steps === 1) return { age: before, cost: driftCost };
    const isSlip = slipSteps.some((slip) => Math.abs(steps - slip) <= slipSlack);
    return { age: before, cost: isSlip ? slipCost : Number.POSITIVE_INFINITY };
  }).filter(({ age: before, cost }) => before !== age && cost < Number.POSITIVE_INFINITY),
);
