/**
 * Hashes label blocks to three seeded words (96 bits), by which the store finds a series without decoding its labels. A collision
 * of all three by chance is less likely than a memory error, and the secret seeds prevent deliberate ones.
 */
import { randomFillSync } from "node:crypto";

/** Number of words in a hash. */
export const hashWords = 3;
const seedWords = 6;

/** The seeds of this process; worker threads get a copy, so that all threads compute the same hashes. */
export const labelSeeds: Readonly<Uint32Array> = randomFillSync(new Uint32Array(seedWords));

export class LabelHasher {
  readonly #seeds: Readonly<Uint32Array>;
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(seeds: Readonly<Uint32Array> = labelSeeds) {
    this.#seeds = seeds;
  }

  /** Writes the hash of the bytes to `out[at]` and the two words after it. */
  hash(bytes: Uint8Array, from: number, to: number, out: Uint32Array, at: number): void {
    const seeds = this.#seeds;
    let a = (seeds[0] as number) ^ (to - from);
    let b = seeds[1] as number;
    let c = seeds[2] as number;
    const ka = (seeds[3] as number) | 1;
    const kb = (seeds[4] as number) | 1;
    const kc = (seeds[5] as number) | 1;
    if (this.#view.buffer !== bytes.buffer) this.#view = new DataView(bytes.buffer);
    const view = this.#view;
    const base = bytes.byteOffset;
    let i = from;
    for (; i + 4 <= to; i += 4) {
      const word = view.getInt32(base + i, true);
      // Three different rotations: a difference that cancels out in one does not in the others.
      a = Math.imul(a ^ word, ka);
      a = (a << 13) | (a >>> 19);
      b = Math.imul(b ^ word, kb);
      b = (b << 7) | (b >>> 25);
      c = Math.imul(c + word, kc);
      c = (c << 18) | (c >>> 14);
    }
    let tail = 0;
    for (; i < to; i++) tail = (tail << 8) | (bytes[i] as number);
    a = Math.imul(a ^ tail, ka);
    b = Math.imul(b ^ tail, kb);
    c = Math.imul(c + tail, kc);
    out[at] = a ^ (a >>> 15);
    out[at + 1] = b ^ (b >>> 16);
    out[at + 2] = c ^ (c >>> 14);
  }

  /** The hashes of a batch's series, one after another. */
  hashAll(
    bytes: Uint8Array,
    labelStarts: Uint32Array,
    labelEnds: Uint32Array,
    count: number,
    out: Uint32Array,
  ): void {
    for (let series = 0; series < count; series++)
      this.hash(
        bytes,
        labelStarts[series] as number,
        labelEnds[series] as number,
        out,
        series * hashWords,
      );
  }
}
