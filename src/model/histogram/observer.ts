/** Counts observations in a native histogram with eight buckets per doubling, so that a quantile is off by at most 4.4 %. */
import { boundOf, type Histogram, noBounds, noBuckets } from "./histogram.ts";

const schema = 3;
/** The default of Prometheus's client libraries. */
const zeroThreshold = 2 ** -128;

export class HistogramObserver {
  readonly #counts = new Map<number, number>();
  #zeroCount = 0;
  #count = 0;
  #sum = 0;

  /** The value must not be negative. */
  observe(value: number): void {
    this.#count++;
    this.#sum += value;
    if (value <= zeroThreshold) this.#zeroCount++;
    else {
      const index = indexOf(value);
      this.#counts.set(index, (this.#counts.get(index) ?? 0) + 1);
    }
  }

  histogram(): Histogram {
    const indexes = Int32Array.from(this.#counts.keys()).sort();
    return {
      resetHint: "unknown",
      schema,
      zeroThreshold,
      zeroCount: this.#zeroCount,
      count: this.#count,
      sum: this.#sum,
      positive: {
        indexes,
        counts: Float64Array.from(indexes, (index) => this.#counts.get(index) ?? 0),
      },
      negative: noBuckets,
      bounds: noBounds,
    };
  }
}

/** Returns the first bucket whose upper bound is not below the value. The logarithm may be off by one. */
function indexOf(value: number): number {
  const guess = Math.ceil(Math.log2(value) * 2 ** schema);
  if (value > boundOf(guess, schema, noBounds)) return guess + 1;
  return value <= boundOf(guess - 1, schema, noBounds) ? guess - 1 : guess;
}
