/** The symbols of a remote-write 2.0 request, and the label blocks that references into them make. */
import { ProtoReader } from "../protobuf/reader.ts";
import { grown } from "../samples/columns.ts";

/** A copy up to this long is done here sooner than the call that does it has begun. */
const shortBytes = 24;

export class SymbolTable {
  /** The last encoded label block: its first `length` bytes. */
  block = new Uint8Array(4_096);
  length = 0;
  readonly #bytes: Uint8Array;
  #starts = new Uint32Array(256);
  #ends = new Uint32Array(256);
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  add(start: number, end: number): void {
    if (this.#count === this.#starts.length) {
      this.#starts = grown(this.#starts, new Uint32Array(this.#count * 2));
      this.#ends = grown(this.#ends, new Uint32Array(this.#count * 2));
    }
    this.#starts[this.#count] = start;
    this.#ends[this.#count++] = end;
  }

  /** @throws ProtoError where it is no valid text. */
  text(ref: number): string | undefined {
    if (ref >= this.#count) return undefined;
    const start = this.#starts[ref] as number;
    const end = this.#ends[ref] as number;
    return ProtoReader.textOf(this.#bytes, start, end);
  }

  is(ref: number, bytes: Uint8Array): boolean {
    const start = this.#starts[ref] ?? 0;
    if (ref >= this.#count || (this.#ends[ref] ?? 0) - start !== bytes.length) return false;
    for (let i = 0; i < bytes.length; i++) if (this.#bytes[start + i] !== bytes[i]) return false;
    return true;
  }

  /** Puts the label block of name and value references into `block`; says what is wrong where they make none. */
  encode(refs: Uint32Array, count: number): string | undefined {
    this.length = 0;
    if (count > refs.length) return `a series has more than ${refs.length / 2} labels`;
    if (count % 2 !== 0) return "a series has a label name without a value";
    for (let i = 0; i < count; i += 2) {
      const [name, value] = [refs[i] as number, refs[i + 1] as number];
      if (name >= this.#count || value >= this.#count)
        return `a label points to symbol ${Math.max(name, value)} of ${this.#count}`;
      this.#label(name, value);
    }
    return undefined;
  }

  #label(name: number, value: number): void {
    const nameBytes = (this.#ends[name] as number) - (this.#starts[name] as number);
    const valueBytes = (this.#ends[value] as number) - (this.#starts[value] as number);
    const inner = 2 + varintBytes(nameBytes) + nameBytes + varintBytes(valueBytes) + valueBytes;
    this.#reserve(inner + 6);
    this.#tagged(0x0a, inner);
    this.#tagged(0x0a, nameBytes);
    this.#copy(this.#starts[name] as number, nameBytes);
    this.#tagged(0x12, valueBytes);
    this.#copy(this.#starts[value] as number, valueBytes);
  }

  #copy(from: number, length: number): void {
    const { block } = this;
    const bytes = this.#bytes;
    const at = this.length;
    if (length > shortBytes) block.set(bytes.subarray(from, from + length), at);
    else for (let i = 0; i < length; i++) block[at + i] = bytes[from + i] as number;
    this.length += length;
  }

  #tagged(tag: number, length: number): void {
    this.block[this.length++] = tag;
    let rest = length;
    while (rest >= 0x80) {
      this.block[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.block[this.length++] = rest;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.block.length) return;
    this.block = grown(this.block, new Uint8Array((this.length + more) * 2));
  }
}

const varintBytes = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
