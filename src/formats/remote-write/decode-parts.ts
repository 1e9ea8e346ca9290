/**
 * The wire format that remote-write 1.0 and 2.0 share: metric types and `Sample { double value = 1; int64 timestamp = 2; int64
 * start_timestamp = 3 (2.0 only); }`.
 */
import { ProtoReader } from "../protobuf/reader.ts";
import type { LabelBlockWriter } from "../samples/block.ts";
import { copyInto } from "../samples/columns.ts";
import { BatchTooLargeError } from "../samples/labels.ts";

export const metricTypes = [
  "unknown",
  "counter",
  "gauge",
  "histogram",
  "gaugehistogram",
  "summary",
  "info",
  "stateset",
];

/** Size of the most common sample: tag 12, a value, and a time of six bytes (1971 to 2109). */
export const plainSampleBytes = 18;
const valueTag = 0x09;
const timeTag = 0x10;

export function isPlainSample(bytes: Uint8Array, at: number, end: number): boolean {
  return (
    at + plainSampleBytes <= end &&
    bytes[at + 1] === plainSampleBytes - 2 &&
    bytes[at + 2] === valueTag &&
    bytes[at + 11] === timeTag &&
    ((bytes[at + 12] as number) &
      (bytes[at + 13] as number) &
      (bytes[at + 14] as number) &
      (bytes[at + 15] as number) &
      (bytes[at + 16] as number)) >=
      0x80 &&
    (bytes[at + 17] as number) < 0x80
  );
}

export function plainTimeMs(bytes: Uint8Array, at: number): number {
  const low =
    ((bytes[at] as number) & 0x7f) |
    (((bytes[at + 1] as number) & 0x7f) << 7) |
    (((bytes[at + 2] as number) & 0x7f) << 14);
  const high =
    ((bytes[at + 3] as number) & 0x7f) |
    (((bytes[at + 4] as number) & 0x7f) << 7) |
    ((bytes[at + 5] as number) << 14);
  return high * 0x20_0000 + low;
}

/** Reads any sample; `valueAt` is negative if the value was left out, which means 0. */
export function readSample(reader: ProtoReader): {
  timeMs: number;
  valueAt: number;
  startMs: number;
} {
  let valueAt = -1;
  let [timeMs, startMs] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 1) valueAt = reader.fixed64();
    else if (reader.field === 2 && reader.wireType === 0) timeMs = reader.int64();
    else if (reader.field === 3 && reader.wireType === 0) startMs = reader.int64();
    else reader.skip();
  }
  return { timeMs, valueAt, startMs };
}

/* The symbols of a remote-write 2.0 request, and the label blocks built from references to them. */

/** More than the maximum number of series in a request could need. */
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

  /** @throws ProtoError if the symbol is not valid UTF-8. */
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

  /** Writes the label block of name and value references; returns the problem if they are invalid. */
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
