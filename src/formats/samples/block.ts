/**
 * Writes a label block, the bytes a series is known by, from texts or from bytes that are texts already. One is used for
 * series after series; labels must come in the order of their names.
 *
 *   each label: `0a` length (`0a` length name `12` length value)
 */

/** A copy up to this long is done here sooner than the call that does it has begun. */
const shortBytes = 64;

export class LabelBlockWriter {
  /** The block is its first `length` bytes. */
  bytes = new Uint8Array(512);
  length = 0;
  /** The same memory, for texts. A part of a Buffer costs several times a part of an array, so that one is handed out. */
  #texts = Buffer.from(this.bytes.buffer);

  label(name: string, value: string): void {
    const nameBytes = Buffer.byteLength(name);
    const valueBytes = Buffer.byteLength(value);
    this.#open(nameBytes, valueBytes);
    this.length += this.#texts.write(name, this.length);
    this.#tagged(0x12, valueBytes);
    this.length += this.#texts.write(value, this.length);
  }

  /** The same from where name and value stand in other bytes. */
  copied(from: Uint8Array, name: number, nameEnd: number, value: number, valueEnd: number): void {
    this.#open(nameEnd - name, valueEnd - value);
    this.#copy(from, name, nameEnd);
    this.#tagged(0x12, valueEnd - value);
    this.#copy(from, value, valueEnd);
  }

  /** Labels that were encoded before. */
  append(block: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    this.#copy(block, start, end);
  }

  clear(): void {
    this.length = 0;
  }

  /** A copy of the block, to be kept. */
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

/** One label by itself. */
export function labelBlock(name: string, value: string): Uint8Array {
  const writer = new LabelBlockWriter();
  writer.label(name, value);
  return writer.copy();
}

const varintBytes = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
