/**
 * Writes label blocks, the bytes that identify a series, from strings or from encoded bytes. One writer is reused for many series;
 * labels must be sorted by name.
 *
 *   each label: `0a` length (`0a` length name `12` length value)
 */

/** Up to this length a copy loop is faster than the native call. */
const shortBytes = 64;

export class LabelBlockWriter {
  /** The first `length` bytes are the block. */
  bytes = new Uint8Array(512);
  length = 0;
  /**
   * The same memory as a Buffer, for writing strings. A Buffer slice costs several times an array slice, so callers get `bytes`.
   */
  #texts = Buffer.from(this.bytes.buffer);

  label(name: string, value: string): void {
    const nameBytes = Buffer.byteLength(name);
    const valueBytes = Buffer.byteLength(value);
    this.#open(nameBytes, valueBytes);
    this.length += this.#texts.write(name, this.length);
    this.#tagged(0x12, valueBytes);
    this.length += this.#texts.write(value, this.length);
  }

  /** Like `label`, with name and value copied from other bytes. */
  copied(from: Uint8Array, name: number, nameEnd: number, value: number, valueEnd: number): void {
    this.#open(nameEnd - name, valueEnd - value);
    this.#copy(from, name, nameEnd);
    this.#tagged(0x12, valueEnd - value);
    this.#copy(from, value, valueEnd);
  }

  /** Appends labels that are already encoded. */
  append(block: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    this.#copy(block, start, end);
  }

  clear(): void {
    this.length = 0;
  }

  /** Returns a copy of the block, which outlives the next `clear`. */
  copy(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }

  #open(nameBytes: number, valueBytes: number): void {
    const inner = 2 + varintBytes(nameBytes) + nameBytes + varintBytes(valueBytes) + valueBytes;
    this.#reserve(inner + 6);
    this.#tagged(0x0a, inner);
    this.#tagged(0x0a, nameBytes);
  }

  #copy(from: Uint8Array, start: number, end: number): void {
    const { bytes, length: at } = this;
    const size = end - start;
    if (size > shortBytes) bytes.set(from.subarray(start, end), at);
    else for (let i = 0; i < size; i++) bytes[at + i] = from[start + i] as number;
    this.length += size;
  }

  #tagged(tag: number, length: number): void {
    this.bytes[this.length++] = tag;
    let rest = length;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const wider = new Uint8Array((this.length + more) * 2);
    wider.set(this.bytes);
    this.bytes = wider;
    this.#texts = Buffer.from(wider.buffer);
  }
}

/** The block of a single label. */
export function labelBlock(name: string, value: string): Uint8Array {
  const writer = new LabelBlockWriter();
  writer.label(name, value);
  return writer.copy();
}

const varintBytes = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
