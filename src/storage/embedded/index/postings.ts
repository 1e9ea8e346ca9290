/**
 * Thousands of sorted lists of numbers in one slab: the series of a label pair, or the values of a name. A list that
 * outgrows its allocation moves to one twice as large; the old one is reused.
 */
import { GrowableUint32 } from "../slab/growable.ts";

const smallest = 2;

export class Postings {
  /** Per list: its start, its length, and the power of two of its allocation. */
  readonly #start = new GrowableUint32();
  readonly #length = new GrowableUint32();
  readonly #room = new GrowableUint32();
  readonly #slab = new GrowableUint32(4096);
  readonly #free: number[][] = [];
  #used = 0;

  length(list: number): number {
    return this.#length.at(list);
  }

  at(list: number, index: number): number {
    return this.#slab.array[this.#start.at(list) + index] as number;
  }

  /** A view that is valid until the next change. */
  view(list: number): Uint32Array {
    const start = this.#start.at(list);
    return this.#slab.array.subarray(start, start + this.#length.at(list));
  }

  /** Inserts the value in order, nearly always at the end. */
  add(list: number, value: number): void {
    const length = this.#length.at(list);
    if (length === this.#room.at(list)) this.#grow(list, length);
    const slab = this.#slab.array;
    const start = this.#start.at(list);
    let place = start + length;
    if (length > 0 && (slab[place - 1] as number) >= value) {
      place = lowerBound(slab, start, start + length, value);
      if (slab[place] === value && place < start + length) return;
      slab.copyWithin(place + 1, place, start + length);
    }
    slab[place] = value;
    this.#length.put(list, length + 1);
  }

  /** Makes the first `lists` lists, all empty before, at once. `each` runs twice and gives each list's values in ascending order. */
  fill(lists: number, each: (visit: (list: number, value: number) => void) => void): void {
    const ends = new Uint32Array(lists);
    each((list) => {
      ends[list] = (ends[list] as number) + 1;
    });
    for (let list = 0; list < lists; list++) {
      const length = ends[list] as number;
      if (length === 0) continue;
      let room = smallest;
      while (room < length) room *= 2;
      const start = this.#extend(room);
      this.#start.put(list, start);
      this.#length.put(list, length);
      this.#room.put(list, room);
      ends[list] = start;
    }
    const slab = this.#slab.array;
    each((list, value) => {
      const at = ends[list] as number;
      slab[at] = value;
      ends[list] = at + 1;
    });
  }

  remove(list: number, value: number): void {
    const slab = this.#slab.array;
    const start = this.#start.at(list);
    const end = start + this.#length.at(list);
    const place = lowerBound(slab, start, end, value);
    if (place === end || slab[place] !== value) return;
    slab.copyWithin(place, place + 1, end);
    this.#length.put(list, end - start - 1);
    if (end - start === 1) this.#release(list);
  }

  /** Removes every marked value from one list, in one pass. */
  removeMarked(list: number, marked: Uint8Array): void {
    const slab = this.#slab.array;
    const start = this.#start.at(list);
    const length = this.#length.at(list);
    let end = start;
    for (let place = start; place < start + length; place++) {
      const value = slab[place] as number;
      if (marked[value] !== 1) slab[end++] = value;
    }
    this.#length.put(list, end - start);
    if (length > 0 && end === start) this.#release(list);
  }

  get byteLength(): number {
    return (
      this.#slab.byteLength +
      this.#start.byteLength +
      this.#length.byteLength +
      this.#room.byteLength
    );
  }

  #grow(list: number, length: number): void {
    const room = Math.max(smallest, this.#room.at(list) * 2);
    const place = this.#free[room]?.pop() ?? this.#extend(room);
    const start = this.#start.at(list);
    this.#slab.array.copyWithin(place, start, start + length);
    if (length > 0) this.#release(list);
    this.#start.put(list, place);
    this.#room.put(list, room);
  }

  #release(list: number): void {
    const room = this.#room.at(list);
    (this.#free[room] ??= []).push(this.#start.at(list));
    this.#room.put(list, 0);
  }

  #extend(room: number): number {
    const place = this.#used;
    this.#used += room;
    this.#slab.reach(this.#used);
    return place;
  }
}

/** The first index from `from` on whose value is not less than `value`. */
export function lowerBound(
  sorted: Uint32Array | Float64Array,
  from: number,
  to: number,
  value: number,
): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
