/**
 * Maps the hash of a request's label block to the series, so that repeated remote-write requests decode no labels. Only
 * the hash is stored (see formats/samples/label-hash.ts), not the bytes.
 */
import { hashWords } from "../../../formats/samples/label-hash.ts";
import { tableSize } from "./hash.ts";

const fields = hashWords + 1;
const most = 4_000_000;

export class RawLabels {
  /** Hashes and series in the order of their first arrival, which the next request most likely repeats. */
  #entries = new Uint32Array(1024 * fields);
  #count = 0;
  /** Entry numbers plus one, by their first hash. */
  #table = new Uint32Array(tableSize(1024));
  #last = -1;

  /** Returns the series for the hash at `hashes[at]`, or -1. */
  find(hashes: Uint32Array, at: number): number {
    const next = this.#last + 1;
    if (next < this.#count && this.#is(next, hashes, at)) this.#last = next;
    else {
      const entry = (this.#table[this.#place(hashes, at)] as number) - 1;
      if (entry < 0) return -1;
      this.#last = entry;
    }
    return this.#entries[this.#last * fields + hashWords] as number;
  }

  /** Adds a hash that `find` did not find. */
  put(hashes: Uint32Array, at: number, ref: number): void {
    if (this.#count >= most) this.clear();
    if ((this.#count + 1) * 2 > this.#table.length) this.#grow();
    const entry = this.#count++;
    this.#table[this.#place(hashes, at)] = entry + 1;
    const start = entry * fields;
    for (let word = 0; word < hashWords; word++)
      this.#entries[start + word] = hashes[at + word] as number;
    this.#entries[start + hashWords] = ref;
    this.#last = entry;
  }

  /** Called when series are dropped, because their numbers may be reused. */
  clear(): void {
    this.#entries = new Uint32Array(1024 * fields);
    this.#table = new Uint32Array(tableSize(1024));
    this.#count = 0;
    this.#last = -1;
  }

  get byteLength(): number {
    return this.#entries.byteLength + this.#table.byteLength;
  }

  #is(entry: number, hashes: Uint32Array, at: number): boolean {
    const start = entry * fields;
    const entries = this.#entries;
    return (
      entries[start] === hashes[at] &&
      entries[start + 1] === hashes[at + 1] &&
      entries[start + 2] === hashes[at + 2]
    );
  }

  #place(hashes: Uint32Array, at: number): number {
    const mask = this.#table.length - 1;
    let slot = (hashes[at] as number) & mask;
    for (;;) {
      const entry = this.#table[slot] as number;
      if (entry === 0 || this.#is(entry - 1, hashes, at)) return slot;
      slot = (slot + 1) & mask;
    }
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
