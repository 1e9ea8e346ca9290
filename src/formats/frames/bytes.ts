/** The primitives of the push format: a growing buffer for writing, bounds-checked reads. Malformed input throws a FramesError. */
import { createHash } from "node:crypto";

export class FramesError extends Error {}

/** Integers up to this value stay exact in zigzag encoding. */
export const largestInteger = 2 ** 51;
const high = 2 ** 32;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1_024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  /** Seven bits per byte, low bits first, as in protobuf. */
  varint(value: number): void {
    this.#room(8);
    let rest = value;
    while (rest >= high) {
      this.#bytes[this.#length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Keeps small numbers of either sign short: 0, -1, 1, -2 become 0, 1, 2, 3. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.varint(bytes);
    this.#room(bytes);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  float(value: number): void {
    this.#room(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Returns a copy: the writer may continue. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(wider, 0, 0, this.#length);
    this.#bytes = wider;
  }
}

export class ByteReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  position: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.position = start;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.position;
  }

  byte(): number {
    if (this.position >= this.#end) throw new FramesError("the bytes end too early");
    return this.#bytes[this.position++] as number;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count++) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 128;
    }
    throw new FramesError("a number is too large");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Reads zigzag numbers into the first `count` elements of `out`. One-byte numbers, the common case, need no call. */
  zigzags(out: Float64Array, count: number): void {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.position;
    for (let i = 0; i < count; i++) {
      const byte = at < end ? (bytes[at] as number) : 128;
      if (byte < 128) {
        at++;
        out[i] = (byte & 1) === 0 ? byte >>> 1 : -((byte + 1) >>> 1);
        continue;
      }
      this.position = at;
      out[i] = this.zigzag();
      at = this.position;
    }
    this.position = at;
  }

  /** Reads an item count, and checks it against the bytes left: a wrong count is detected before memory is allocated for it. */
  count(what: string, most: number, leastBytes: number): number {
    const count = this.varint();
    if (count > most) throw new FramesError(`more than ${most} ${what}`);
    if (count * leastBytes > this.left) throw new FramesError("the bytes end too early");
    return count;
  }

  /** Skips a text without decoding it. */
  skipText(maxBytes: number): void {
    this.skip(this.#textBytes(maxBytes));
  }

  skip(count: number): void {
    if (count > this.left) throw new FramesError("the bytes end too early");
    this.position += count;
  }

  /** The bytes from a position up to the current one, one character per byte: a key for a cache. */
  latin1(from: number): string {
    return this.#bytes.toString("latin1", from, this.position);
  }

  #textBytes(maxBytes: number): number {
    const bytes = this.varint();
    if (bytes > maxBytes) throw new FramesError(`a text is longer than ${maxBytes} bytes`);
    return bytes;
  }

  text(maxBytes: number): string {
    const bytes = this.#textBytes(maxBytes);
    try {
      return decoder.decode(this.raw(bytes));
    } catch (thrown) {
      if (thrown instanceof FramesError) throw thrown;
      throw new FramesError("a text is not valid UTF-8");
    }
  }

  float(): number {
    return this.raw(8).readDoubleLE(0);
  }

  raw(count: number): Buffer {
    if (count > this.left) throw new FramesError("the bytes end too early");
    const part = this.#bytes.subarray(this.position, this.position + count);
    this.position += count;
    return part;
  }
}

/* Limits of a request, far above what a gpulse agent sends; anything beyond is refused before memory is allocated for it. */

export const limits = {
  nameBytes: 1_024,
  labelValueBytes: 16_384,
  helpBytes: 4_096,
  texts: 500_000,
  metrics: 10_000,
  series: 250_000,
  labels: 128,
  buckets: 1_000,
  devices: 100_000,
  capabilities: 64,
  records: 100_000,
  /** Total of all frames of one request. */
  values: 5_000_000,
} as const;

/* A definition's id is the first eight bytes of its content's SHA-256, in hex: both sides compute it. */

export const hashBytes = 8;

export function hashOf(content: Uint8Array): string {
  return createHash("sha256")
    .update(content)
    .digest("hex")
    .slice(0, hashBytes * 2);
}
