/** Writes protobuf's wire format (described in reader.ts) into a growing buffer. Tags are complete: number << 3 | wire type. */

export class ProtoWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(firstBytes = 1_024) {
    this.#bytes = Buffer.allocUnsafe(firstBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Writes an integer up to 2^53; negative ones take ten bytes, like an int64. */
  varint(value: number): void {
    this.#room(10);
    if (value >= 0 && value < 0x80) this.#bytes[this.#length++] = value;
    else this.#length = putInt64(this.#bytes, this.#length, value);
  }

  /** A field with an integer or a boolean. */
  int(tag: number, value: number): void {
    this.varint(tag);
    this.varint(value);
  }

  double(tag: number, value: number): void {
    this.varint(tag);
    this.#room(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  /** Eight bytes that are not a double, or a NaN whose bits matter. */
  fixed64(tag: number, low: number, high: number): void {
    this.varint(tag);
    this.#room(8);
    this.#length = this.#bytes.writeUInt32LE(low >>> 0, this.#length);
    this.#length = this.#bytes.writeUInt32LE(high >>> 0, this.#length);
  }

  text(tag: number, text: string): void {
    this.varint(tag);
    const bytes = Buffer.byteLength(text);
    this.varint(bytes);
    this.#room(bytes);
    this.#length += this.#bytes.write(text, this.#length);
  }

  bytes(tag: number, bytes: Uint8Array): void {
    this.varint(tag);
    this.varint(bytes.length);
    this.raw(bytes);
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * Writes the output of `write` as an embedded message. Its length is known only at the end; if it takes more than one byte, the
   * message is moved.
   */
  message(tag: number, write: () => void): void {
    this.varint(tag);
    const start = this.#length + 1;
    this.#room(1);
    this.#length = start;
    write();
    const length = this.#length - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    const extra = varintBytes(length) - 1;
    this.#room(extra);
    this.#bytes.copyWithin(start + extra, start, this.#length);
    putInt64(this.#bytes, start - 1, length);
    this.#length += extra;
  }

  /** Resets the writer; the bytes that `finish` returned are overwritten. */
  clear(): void {
    this.#length = 0;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(wider, 0, 0, this.#length);
    this.#bytes = wider;
  }
}

export function varintBytes(value: number): number {
  if (value < 0) return 10;
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

/** Writes a signed 64-bit varint; returns its end. */
export function putInt64(out: Uint8Array, at: number, value: number): number {
  let low = value | 0;
  let high = Math.floor(value / 4_294_967_296) | 0;
  if (value < 4_294_967_296 && value > -1) {
    low = value >>> 0;
    high = 0;
  }
  let end = at;
  while (high !== 0 || low >>> 0 >= 0x80) {
    out[end++] = (low & 0x7f) | 0x80;
    low = (low >>> 7) | (high << 25);
    high >>>= 7;
  }
  out[end++] = low;
  return end;
}
