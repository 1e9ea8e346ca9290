// Counts how often each branch was reached, in the coarse steps a fuzzer needs: once, twice, a few times, many times.

/** A count as one bit: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128 and more. */
const bitOf = Uint8Array.from({ length: 256 }, (_, count) => {
  if (count === 0) return 0;
  if (count <= 3) return 1 << (count - 1);
  if (count < 8) return 8;
  if (count < 16) return 16;
  if (count < 32) return 32;
  return count < 128 ? 64 : 128;
});

export class BranchCoverage {
  readonly #counters: Uint8Array;
  readonly #words: BigUint64Array;
  #seen: Uint8Array;
  count = 0;

  constructor(counters: Uint8Array = new Uint8Array(8)) {
    this.#counters = counters;
    this.#words = new BigUint64Array(counters.buffer);
    this.#seen = new Uint8Array(counters.length);
  }

  clear(): void {
    this.#counters.fill(0);
  }

  /** True if the last input reached a branch that no earlier input did. */
  learn(): boolean {
    const words = this.#words;
    let isNew = false;
    for (let word = 0; word < words.length; word++) {
      if (words[word] === 0n) continue;
      for (let at = word * 8; at < word * 8 + 8; at++) {
        const bit = bitOf[this.#counters[at] as number] as number;
        const seen = this.#seen[at] as number;
        if ((seen & bit) === bit) continue;
        if (seen === 0) this.count++;
        this.#seen[at] = seen | bit;
        isNew = true;
      }
    }
    return isNew;
  }

  /** The smallest set of small inputs with the same coverage: tried in order of size, keeping only those that add coverage. */
  async smallest(
    corpus: readonly Buffer[],
    run: (bytes: Buffer) => Promise<unknown>,
  ): Promise<Buffer[]> {
    const [seen, { count }] = [this.#seen, this];
    this.#seen = new Uint8Array(seen.length);
    const kept: Buffer[] = [];
    for (const bytes of [...corpus].sort((left, right) => left.length - right.length)) {
      this.clear();
      await run(bytes);
      if (this.learn()) kept.push(bytes);
    }
    this.#seen = seen;
    this.count = count;
    return kept;
  }
}
