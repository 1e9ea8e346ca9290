/**
 * Compares the digests of a load that every thread block computes from the same inputs: all must be equal to each other and to
 * the first launch. The majority counts as correct. Pure.
 */
import type { WrongValues } from "./protocol.ts";

export class Agreement {
  readonly #threads: number;
  readonly #sms = new Set<number>();
  #reference: Uint32Array | undefined;
  #count = 0;

  constructor(threadsPerBlock: number) {
    this.#threads = threadsPerBlock;
  }

  /** Adds one launch: a digest per thread, and the SM of each block. */
  add(digests: Uint32Array, smOfBlock: readonly number[]): void {
    const reference = (this.#reference ??= majority(digests, this.#threads));
    for (let at = 0; at < digests.length; at++) {
      if (digests[at] === reference[at % this.#threads]) continue;
      this.#count++;
      this.#sms.add(smOfBlock[Math.floor(at / this.#threads)] ?? -1);
    }
  }

  get wrong(): WrongValues {
    return { count: this.#count, sms: [...this.#sms].sort((a, b) => a - b) };
  }
}

/** Boyer–Moore majority vote, per thread over all blocks. */
function majority(digests: Uint32Array, threads: number): Uint32Array {
  const winners = new Uint32Array(threads);
  const leads = new Uint32Array(threads);
  digests.forEach((digest, at) => {
    const thread = at % threads;
    const lead = leads[thread] ?? 0;
    if (lead === 0) winners[thread] = digest;
    leads[thread] = lead === 0 || winners[thread] === digest ? lead + 1 : lead - 1;
  });
  return winners;
}
