/**
 * From the raw bytes of a label set, as a request carries them, straight to the series: a warm remote-write then decodes no
 * label at all. Only three seeded hashes (96 bits) and the length are kept; two sets that agree in all by chance are less
 * likely than a memory error, and the secret seeds keep anyone from making them.
 */
import { webcrypto } from "node:crypto";
import { tableSize } from "./hash.ts";

const fields = 4;
const most = 4_000_000;

export class RawLabels {
  #table = new Uint32Array(tableSize(1024) * fields);
  #count = 0;
  readonly #seeds = webcrypto.getRandomValues(new Uint32Array(6));
  #h1 = 0;
  #h2 = 0;
  #h3 = 0;

  /** The series that was put for exactly these bytes, or -1. Remembers the hash for `put`. */
  find(bytes: Uint8Array, from: number, to: number): number {
    this.#hash(bytes, from, to);
    const place = this.#place();
    return (this.#table[place + 3] as number) - 1;
  }

  /** For the bytes of the last `find`. */
  put(ref: number): void {
    if (this.#count >= most) this.clear();
    if ((this.#count + 1) * 2 * fields > this.#table.length) this.#rehash();
    const place = this.#place();
    if (this.#table[place + 3] === 0) this.#count++;
    this.#table[place] = this.#h1;
    this.#table[place + 1] = this.#h2;
    this.#table[place + 2] = this.#h3;
    this.#table[place + 3] = ref + 1;
  }

  /** Called when series are dropped: their numbers may come to mean others. */
  clear(): void {
    this.#table = new Uint32Array(tableSize(1024) * fields);
    this.#count = 0;
  }

  get byteLength(): number {
    return this.#table.byteLength;
  }

  #place(): number {
    const table = this.#table;
    const mask = table.length / fields - 1;
    let slot = this.#h1 & mask;
    for (;;) {
      const at = slot * fields;
      if (table[at + 3] === 0) return at;
      if (table[at] === this.#h1 && table[at + 1] === this.#h2 && table[at + 2] === this.#h3)
        return at;
      slot = (slot + 1) & mask;
    }
  }

  #hash(bytes: Uint8Array, from: number, to: number): void {
    const seeds = this.#seeds;
    let a = (seeds[0] as number) ^ (to - from);
    let b = seeds[1] as number;
    let c = seeds[2] as number;
    const [ka, kb, kc] = [
      (seeds[3] as number) | 1,
      (seeds[4] as number) | 1,
      (seeds[5] as number) | 1,
    ];
    let i = from;
    for (; i + 4 <= to; i += 4) {
      const word =
        (bytes[i] as number) |
        ((bytes[i + 1] as number) << 8) |
        ((bytes[i + 2] as number) << 16) |
        ((bytes[i + 3] as number) << 24);
      // Three different rotations: a difference that cancels in one does not in the others.
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
    this.#h1 = (a ^ (a >>> 15)) >>> 0;
    this.#h2 = (b ^ (b >>> 16)) >>> 0;
    this.#h3 = (c ^ (c >>> 14)) >>> 0;
  }

  #rehash(): void {
    const old = this.#table;
    this.#table = new Uint32Array(old.length * 2);
    const [h1, h2, h3] = [this.#h1, this.#h2, this.#h3];
    for (let at = 0; at < old.length; at += fields) {
      if (old[at + 3] === 0) continue;
      this.#h1 = old[at] as number;
      this.#h2 = old[at + 1] as number;
      this.#h3 = old[at + 2] as number;
      this.#table.set(old.subarray(at, at + fields), this.#place());
    }
    [this.#h1, this.#h2, this.#h3] = [h1, h2, h3];
  }
}
