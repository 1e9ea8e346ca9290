/**
 * The series: each an integer with its label pairs in a slab, found by the hash of its label set. There is no object or
 * array per series: at 400,000 series a garbage collection would take a third of a second.
 */
import { GrowableUint32, GrowableUint8 } from "../slab/growable.ts";
import { mix, tableSize } from "./hash.ts";

/**
 * The largest series number. Columns are indexed by it, so a corrupt number would waste gigabytes. Numbers are reused
 * once no block contains them: two million new series a day, stored for a month, stay below it.
 */
export const largestRef = 2 ** 26;

const deleted = 0xffffffff;

export class SeriesTable {
  /** Start of each series' label pairs in the slab; there: the count, then that many pairs ordered by label name. */
  readonly #start = new GrowableUint32();
  readonly #alive = new GrowableUint8();
  /** Stored so that a rebuild of the hash table, which blocks the thread, takes only milliseconds. */
  readonly #hash = new GrowableUint32();
  #slab = new GrowableUint32(4096);
  #slabUsed = 0;
  #slabDead = 0;
  #table = new Uint32Array(tableSize(512));
  #tableUsed = 0;
  readonly #free: number[] = [];
  #next = 0;
  #count = 0;

  /** Number of series. */
  get count(): number {
    return this.#count;
  }

  /** The highest number ever assigned, plus one. */
  get end(): number {
    return this.#next;
  }

  isAlive(ref: number): boolean {
    return this.#alive.at(ref) === 1;
  }

  pairCount(ref: number): number {
    return this.#slab.array[this.#start.array[ref] as number] as number;
  }

  pair(ref: number, index: number): number {
    return this.#slab.array[(this.#start.array[ref] as number) + 1 + index] as number;
  }

  /** Visits every pair of every series, in ascending order of the series. */
  eachPair(visit: (pair: number, ref: number) => void): void {
    const [alive, start, slab] = [this.#alive.array, this.#start.array, this.#slab.array];
    for (let ref = 0; ref < this.#next; ref++) {
      if (alive[ref] !== 1) continue;
      const from = (start[ref] as number) + 1;
      const end = from + (slab[from - 1] as number);
      // Pairs are ordered: one that a damaged record names twice follows itself.
      for (let at = from; at < end; at++)
        if (at === from || slab[at] !== slab[at - 1]) visit(slab[at] as number, ref);
    }
  }

  find(pairs: Uint32Array, count: number): number | undefined {
    const entry = this.#table[this.#place(pairs, count, hashOf(pairs, count))] as number;
    return entry === 0 ? undefined : entry - 1;
  }

  /** Adds a label set that does not exist yet. A given number is used as it is, because the log or blocks refer to it. */
  add(pairs: Uint32Array, count: number, wanted?: number): number {
    if (wanted !== undefined && !(wanted >= 0 && wanted <= largestRef))
      throw new RangeError(`no series has the number ${wanted}`);
    if ((this.#tableUsed + 1) * 2 >= this.#table.length) this.#rehash();
    const hash = hashOf(pairs, count);
    const place = this.#place(pairs, count, hash);
    if (this.#table[place] !== 0) throw new RangeError("a label set has two series numbers");
    const ref = wanted ?? this.#free.pop() ?? this.#next;
    this.#next = Math.max(this.#next, ref + 1);
    this.#slab.reach(this.#slabUsed + count + 1);
    this.#start.put(ref, this.#slabUsed);
    this.#hash.put(ref, hash);
    this.#slab.array[this.#slabUsed++] = count;
    for (let i = 0; i < count; i++) this.#slab.array[this.#slabUsed++] = pairs[i] as number;
    this.#alive.put(ref, 1);
    this.#table[place] = ref + 1;
    this.#tableUsed++;
    this.#count++;
    return ref;
  }

  /** Prevents the assignment of numbers below this one, unless they are released. */
  reserve(end: number): void {
    if (end > largestRef + 1) throw new RangeError(`no series has the number ${end - 1}`);
    this.#next = Math.max(this.#next, end);
  }

  /** Drops a series. Its number is reused only after `release`. */
  drop(ref: number): void {
    const count = this.pairCount(ref);
    const mask = this.#table.length - 1;
    let place = (this.#hash.array[ref] as number) & mask;
    while (this.#table[place] !== ref + 1) place = (place + 1) & mask;
    this.#table[place] = deleted;
    this.#slabDead += count + 1;
    this.#alive.put(ref, 0);
    this.#count--;
    if (this.#slabDead > 65_536 && this.#slabDead * 2 > this.#slabUsed) this.#compactSlab();
  }

  release(ref: number): void {
    this.#free.push(ref);
  }

  get byteLength(): number {
    return (
      this.#start.byteLength +
      this.#hash.byteLength +
      this.#alive.byteLength +
      this.#slab.byteLength +
      this.#table.byteLength
    );
  }

  #place(pairs: Uint32Array, count: number, hash: number): number {
    const mask = this.#table.length - 1;
    let place = hash & mask;
    for (;;) {
      const entry = this.#table[place] as number;
      if (entry === 0) return place;
      if (
        entry !== deleted &&
        this.#hash.array[entry - 1] === hash &&
        this.#same(entry - 1, pairs, count)
      )
        return place;
      place = (place + 1) & mask;
    }
  }

  #same(ref: number, pairs: Uint32Array, count: number): boolean {
    const start = this.#start.array[ref] as number;
    const slab = this.#slab.array;
    if (slab[start] !== count) return false;
    for (let i = 0; i < count; i++) if (slab[start + 1 + i] !== pairs[i]) return false;
    return true;
  }

  #rehash(): void {
    const table = new Uint32Array(tableSize(Math.max(512, this.#count * 2)));
    const mask = table.length - 1;
    const [alive, hash] = [this.#alive.array, this.#hash.array];
    for (let ref = 0; ref < this.#next; ref++) {
      if (alive[ref] !== 1) continue;
      let place = (hash[ref] as number) & mask;
      while (table[place] !== 0) place = (place + 1) & mask;
      table[place] = ref + 1;
    }
    this.#table = table;
    this.#tableUsed = this.#count;
  }

  #compactSlab(): void {
    const old = this.#slab.array;
    this.#slab = new GrowableUint32(Math.max(4096, this.#slabUsed - this.#slabDead));
    this.#slabUsed = 0;
    this.#slabDead = 0;
    for (let ref = 0; ref < this.#next; ref++) {
      if (!this.isAlive(ref)) continue;
      const start = this.#start.array[ref] as number;
      const length = (old[start] as number) + 1;
      this.#slab.reach(this.#slabUsed + length);
      this.#slab.array.set(old.subarray(start, start + length), this.#slabUsed);
      this.#start.array[ref] = this.#slabUsed;
      this.#slabUsed += length;
    }
  }
}

function hashOf(pairs: Uint32Array, count: number): number {
  let hash = count;
  for (let i = 0; i < count; i++) hash = mix(hash, pairs[i] as number);
  return hash >>> 0;
}
