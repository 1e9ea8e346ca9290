/** The symbols of a remote-write 2.0 request, and the label blocks that references into them make. */
import { ProtoReader } from "../protobuf/reader.ts";
import type { LabelBlockWriter } from "../samples/block.ts";
import { copyInto } from "../samples/columns.ts";
import { BatchTooLargeError } from "../samples/limits.ts";

/** More than as many series as a request may have could need. */
const maxSymbols = 2 ** 20;

export class SymbolTable {
  readonly #bytes: Uint8Array;
  #starts = new Uint32Array(256);
  #ends = new Uint32Array(256);
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  add(start: number, end: number): void {
    if (this.#count >= maxSymbols) throw new BatchTooLargeError(`${maxSymbols} symbols`);
    if (this.#count === this.#starts.length) {
      this.#starts = copyInto(this.#starts, new Uint32Array(this.#count * 2));
      this.#ends = copyInto(this.#ends, new Uint32Array(this.#count * 2));
    }
    this.#starts[this.#count] = start;
    this.#ends[this.#count++] = end;
  }

  /** @throws ProtoError where it is no valid text. */
  text(ref: number): string | undefined {
    if (!(ref >= 0 && ref < this.#count)) return undefined;
    const start = this.#starts[ref] as number;
    return ProtoReader.textOf(this.#bytes, start, this.#ends[ref] as number);
  }

  is(ref: number, bytes: Uint8Array): boolean {
    const start = this.#starts[ref] ?? 0;
    if (ref >= this.#count || (this.#ends[ref] ?? 0) - start !== bytes.length) return false;
    for (let i = 0; i < bytes.length; i++) if (this.#bytes[start + i] !== bytes[i]) return false;
    return true;
  }

  /** Writes the label block of name and value references; says what is wrong where they make none. */
  encode(refs: Uint32Array, count: number, block: LabelBlockWriter): string | undefined {
    if (count > refs.length) return `a series has more than ${refs.length / 2} labels`;
    if (count % 2 !== 0) return "a series has a label name without a value";
    for (let i = 0; i < count; i += 2) {
      const [name, value] = [refs[i] as number, refs[i + 1] as number];
      if (name >= this.#count || value >= this.#count)
        return `a label points to symbol ${Math.max(name, value)} of ${this.#count}`;
      block.copied(
        this.#bytes,
        this.#starts[name] as number,
        this.#ends[name] as number,
        this.#starts[value] as number,
        this.#ends[value] as number,
      );
    }
    return undefined;
  }
}
