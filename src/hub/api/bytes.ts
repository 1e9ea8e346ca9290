/** Writes JSON straight into bytes: an answer of a million points must not first become a million strings. Never past its bound. */
import { failed } from "../../query/errors.ts";

/** About ten million points. */
export const maxAnswerBytes = 256 * 1024 * 1024;

export class BytesWriter {
  #bytes: Buffer;
  #length = 0;

  readonly #mostBytes: number;

  constructor(initialBytes = 64 * 1024, mostBytes = maxAnswerBytes) {
    this.#mostBytes = mostBytes;
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

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    if (this.#length + bytes > this.#mostBytes)
      throw failed(
        `the answer would be larger than ${Math.round(this.#mostBytes / 1024 / 1024)} MiB: ask for fewer series, a shorter time or a longer step`,
      );
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
