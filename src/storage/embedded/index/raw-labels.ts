/**
 * From the raw bytes of a label set, as a request carries them, straight to the series: a warm remote-write then decodes no
 * label at all. Only three seeded hashes (96 bits) and the length are stored; two sets that agree in all by chance are less
 * likely than a memory error, and the secret seeds keep anyone from making them.
 */
import { webcrypto } from "node:crypto";
import { tableSize } from "./hash.ts";

const fields = 4;
const most = 4_000_000;

export class RawLabels {
  /** Hashes and series, in the order they first came; the next request most likely has the same order. */
  #entries = new Uint32Array(1024 * fields);
  #count = 0;
  /** Entries by their first hash, one more than their number. */
  #table = new Uint32Array(tableSize(1024));
  #last = -1;
  readonly #seeds = webcrypto.getRandomValues(new Uint32Array(6));
  #h1 = 0;
  #h2 = 0;
  #h3 = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** The series that was put for exactly these bytes, or -1. Remembers the hash for `put`. */
  find(bytes: Uint8Array, from: number, to: number): number {
    this.#hash(bytes, from, to);
    const next = this.#last + 1;
    if (next < this.#count && this.#is(next)) this.#last = next;
    else {
      const entry = (this.#table[this.#place()] as number) - 1;
      if (entry < 0) return -1;
      this.#last = entry;
    }
    return this.#entries[this.#last * fields + 3] as number;
  }

  /** For the bytes of the last `find`, which found nothing. */
  put(ref: number): void {
    if (this.#count >= most) this.clear();
    if ((this.#count + 1) * 2 > this.#table.length) this.#grow();
    const entry = this.#count++;
    this.#table[this.#place()] = entry + 1;
    this.#entries[entry * fields] = this.#h1;
    this.#entries[entry * fields + 1] = this.#h2;
    this.#entries[entry * fields + 2] = this.#h3;
    this.#entries[entry * fields + 3] = ref;
    this.#last = entry;
  }

  /** Called when series are dropped: their numbers may come to mean others. */
  clear(): void {
    this.#entries = new Uint32Array(1024 * fields);
    this.#table = new Uint32Array(tableSize(1024));
    this.#count = 0;
    this.#last = -1;
  }

  get byteLength(): number {
    return this.#entries.byteLength + this.#table.byteLength;
  }

  #is(entry: number): boolean {
    const at = entry * fields;
    return (
      this.#entries[at] === this.#h1 &&
      this.#entries[at + 1] === this.#h2 &&
      this.#entries[at + 2] === this.#h3
    );
  }

  #place(): number {
    const mask = this.#table.length - 1;
    let slot = this.#h1 & mask;
    for (;;) {
      const entry = this.#table[slot] as number;
      if (entry === 0 || this.#is(entry - 1)) return slot;
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
    if (this.#view.buffer !== bytes.buffer) this.#view = new DataView(bytes.buffer);
    const view = this.#view;
    const base = bytes.byteOffset;
    let i = from;
    for (; i + 4 <= to; i += 4) {
      const word = view.getInt32(base + i, true);
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

  #grow(): void {
    const entries = new Uint32Array(this.#table.length * fields);
    entries.set(this.#entries.subarray(0, this.#count * fields));
    this.#entries = entries;
    this.#table = new Uint32Array(this.#table.length * 2);
    const mask = this.#table.length - 1;
    for (let entry = 0; entry < this.#count; entry++) {
      let slot = (entries[entry * fields] as number) & mask;
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
      this.#table[slot] = entry + 1;
    }
  }
}
