/** Writes JSON straight into bytes: a response of a million points must not first become a million strings. */

export class BytesWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(initialBytes = 64 * 1024) {
    this.#bytes = Buffer.allocUnsafe(initialBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Text whose every character is one byte; numbers and JSON's own signs are. */
  ascii(text: string): void {
    this.#room(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** Any text, in UTF-8. */
  text(text: string): void {
    this.#room(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** What was written since the last time, in memory of its own. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafe(this.#bytes.length);
    this.#length = 0;
    return taken;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
