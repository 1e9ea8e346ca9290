/** A byte buffer that doubles its size while it is written to. */
import { writeVarint } from "../codec/varint.ts";

export class Bytes {
  array = new Uint8Array(65_536);
  length = 0;

  reserve(more: number): void {
    if (this.length + more <= this.array.length) return;
    const larger = new Uint8Array(2 ** Math.ceil(Math.log2(this.length + more)));
    larger.set(this.array.subarray(0, this.length));
    this.array = larger;
  }

  byte(value: number): void {
    this.reserve(1);
    this.array[this.length++] = value;
  }

  varint(value: number): void {
    this.reserve(8);
    this.length = writeVarint(this.array, this.length, value);
  }

  get used(): Uint8Array {
    return this.array.subarray(0, this.length);
  }
}
