/** Reproducible randomness: a small generator (sfc32) seeded by a number and a name, so that every GPU has its own stream. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, stream: string) {
    let hash = mix(seed >>> 0, Math.floor(seed / 0x1_0000_0000) >>> 0);
    for (let at = 0; at < stream.length; at++) hash = mix(hash, stream.charCodeAt(at));
    this.#a = mix(hash, 0x9e3779b9);
    this.#b = mix(hash, 0x243f6a88);
    this.#c = mix(hash, 0xb7e15162);
    for (let round = 0; round < 12; round++) this.bits();
  }

  /** 32 random bits. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** A number from 0 up to but excluding 1. */
  next(): number {
    return this.bits() / 0x1_0000_0000;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** An integer from 0 up to but excluding the count. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Time to the next event of a Poisson process. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += this.bits().toString(16).padStart(8, "0");
    return text.slice(0, digits);
  }
}

function mix(hash: number, value: number): number {
  let mixed = (hash ^ value) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
