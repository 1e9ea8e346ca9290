/**
 * Avro's binary encoding, into one growing buffer. Integers are zigzag varints; strings, bytes, arrays and maps begin with their
 * length, arrays and maps end with a length of 0; a union begins with the index of its branch; a double is 8 bytes, little-endian.
 */
export class AvroWriter {
  #bytes: Buffer = Buffer.allocUnsafe(4_096);
  #length = 0;

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  bool(value: boolean): void {
    this.byte(value ? 1 : 0);
  }

  /** An int, a long, a length or the index of a union's branch. */
  long(value: number): void {
    let left = value < 0 ? -value * 2 - 1 : value * 2;
    if (!Number.isSafeInteger(left)) throw new RangeError(`BUG: ${value} is written as a long`);
    this.#reserve(10);
    while (left > 0x7f) {
      this.#bytes[this.#length++] = (left % 128) | 0x80;
      left = Math.floor(left / 128);
    }
    this.#bytes[this.#length++] = left;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.long(size);
    this.#reserve(size);
    this.#length += this.#bytes.write(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.long(value.length);
    this.raw(value);
  }

  /** The bytes without their length. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** Returns a copy of the bytes written and clears the buffer. */
  finish(): Buffer {
    const written = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return written;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + size));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
