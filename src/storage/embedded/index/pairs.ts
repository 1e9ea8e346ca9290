/** Label pairs as numbers: (name, value) to one id, the values of each name, and the series that carry each pair. */
import { GrowableUint32 } from "../slab/growable.ts";
import { mix, tableSize } from "./hash.ts";
import { Postings } from "./postings.ts";

export class Pairs {
  readonly #name = new GrowableUint32();
  readonly #value = new GrowableUint32();
  /** The series of each pair. */
  readonly series = new Postings();
  /** The pairs of each name, by the name's symbol. */
  readonly ofName = new Postings();
  #table = new Uint32Array(tableSize(512));
  #count = 0;

  get count(): number {
    return this.#count;
  }

  name(pair: number): number {
    return this.#name.array[pair] as number;
  }

  value(pair: number): number {
    return this.#value.array[pair] as number;
  }

  find(name: number, value: number): number | undefined {
    const entry = this.#table[this.#place(name, value)] as number;
    return entry === 0 ? undefined : entry - 1;
  }

  intern(name: number, value: number): number {
    let place = this.#place(name, value);
    const entry = this.#table[place] as number;
    if (entry !== 0) return entry - 1;
    if (this.#count * 2 >= this.#table.length) {
      this.#rehash();
      place = this.#place(name, value);
    }
    const pair = this.#count++;
    this.#name.put(pair, name);
    this.#value.put(pair, value);
    this.#table[place] = pair + 1;
    this.ofName.add(name, pair);
    return pair;
  }

  get byteLength(): number {
    return (
      this.#name.byteLength +
      this.#value.byteLength +
      this.series.byteLength +
      this.ofName.byteLength +
      this.#table.byteLength
    );
  }

  #place(name: number, value: number): number {
    const mask = this.#table.length - 1;
    let place = mix(mix(0, name), value) & mask;
    for (;;) {
      const entry = this.#table[place] as number;
      if (entry === 0 || (this.name(entry - 1) === name && this.value(entry - 1) === value))
        return place;
      place = (place + 1) & mask;
    }
  }

  #rehash(): void {
    this.#table = new Uint32Array(this.#table.length * 2);
    for (let pair = 0; pair < this.#count; pair++)
      this.#table[this.#place(this.name(pair), this.value(pair))] = pair + 1;
  }
}
