/**
 * The median and the spread of a stream of numbers, robust against outliers and in constant memory: exact over the first few,
 * then each new number moves the median and the median absolute deviation by a small step towards it.
 */

/** Converts the median absolute deviation of normal noise to its standard deviation. */
export const sigmaPerMad = 1.4826;

const seedCount = 31;

export class Spread {
  readonly #share: number;
  readonly #leastMad: number;
  #seed: number[] | undefined = [];
  #median = 0;
  #mad = 0;
  count = 0;

  /** `share` is the step relative to the spread: 0.01 forgets within a few hundred numbers. */
  constructor(leastSigma: number, share = 0.01) {
    this.#leastMad = leastSigma / sigmaPerMad;
    this.#mad = this.#leastMad;
    this.#share = share;
  }

  get median(): number {
    return this.#median;
  }

  get sigma(): number {
    return Math.max(this.#mad, this.#leastMad) * sigmaPerMad;
  }

  add(value: number): void {
    this.count += 1;
    if (this.#seed !== undefined) {
      this.#seed.push(value);
      this.#median = medianOf(this.#seed);
      this.#mad = Math.max(
        this.#leastMad,
        medianOf(this.#seed.map((one) => Math.abs(one - this.#median))),
      );
      if (this.#seed.length >= seedCount) this.#seed = undefined;
      return;
    }
    const away = Math.abs(value - this.#median);
    this.#median += Math.sign(value - this.#median) * Math.min(away, this.#share * this.#mad * 2);
    const towards = away > this.#mad ? 1 + this.#share : 1 - this.#share;
    this.#mad = Math.max(this.#leastMad, this.#mad * towards);
  }
}

/** Returns 0 for an empty list. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
