/**
 * The payload of one series log record, which can be read without the others:
 *
 *   series:  u8 6, varint count (3 bytes), then per series: zigzag-varint ref - previous ref, varint shape, values
 *   shape:   0: a new shape, followed by varint labels and per label the text of its name; else 1 + its index in the record
 *   values:  for the first series of a shape: the text of each; else a bit per label, least first, in whole bytes: set if the value
 *            differs from that of the previous series with this shape; then the text of each of those
 *   text:    varint 0, varint shared, varint bytes, UTF-8 if new in the record: `shared` ASCII bytes (at most 127) of the text
 *            that it replaces come first; else varint 1 + its index among the record's texts
 *   dropped: u8 3, varint count (3 bytes), then per series: zigzag-varint ref - previous ref
 *
 * Up to version 2 of the format:
 *
 *   series:  u8 4, varint count (3 bytes), then per series: zigzag-varint ref - previous ref, varint labels, per label: name, value;
 *            a text is varint 0, varint bytes, UTF-8 if new in the record, else varint 1 + its index among the record's texts
 */
import type { Label } from "../../../model/labels.ts";
import { readVarint, unzigzag, writeVarint, zigzag } from "../codec/varint.ts";
import type { LabelIndex } from "../index/index.ts";

export const typeDropped = 3;
export const typeTextSeries = 4;
export const typeSeries = 6;
/** A record is cut at about this size or number of series, to limit the effect of damage. */
const recordBytes = 4_096;
const recordSeries = 80;
const maxShared = 127;
/** Number of recent shapes that a series is compared with, newest first. */
const comparedShapes = 32;

interface Shape {
  readonly place: number;
  /** Symbols of the label names, and of the last series' values. */
  readonly names: Uint32Array;
  readonly values: Uint32Array;
}

/** Collects entries of one type into a record. The count is only known at the end, so it always takes three bytes. */
export class RecordBuffer {
  readonly named: number[] = [];
  /** Index of each text in the record, by symbol. */
  readonly #texts = new Map<number, number>();
  readonly #shapes: Shape[] = [];
  #buffer = Buffer.alloc(2 * recordBytes);
  #at = 0;
  #count = 0;
  #last = 0;
  #names = new Uint32Array(64);
  #values = new Uint32Array(64);

  get isFull(): boolean {
    return this.#at >= recordBytes || this.named.length >= recordSeries;
  }

  drop(ref: number): void {
    this.#begin(typeDropped, ref);
  }

  add(index: LabelIndex, ref: number): void {
    const { table, pairs } = index;
    const labels = table.pairCount(ref);
    if (labels > this.#names.length)
      [this.#names, this.#values] = [new Uint32Array(2 * labels), new Uint32Array(2 * labels)];
    for (let i = 0; i < labels; i++) {
      const pair = table.pair(ref, i);
      this.#names[i] = pairs.name(pair);
      this.#values[i] = pairs.value(pair);
    }
    this.#begin(typeSeries, ref);
    this.named.push(ref);
    const shape = this.#findShape(labels);
    if (shape === undefined) this.#newShape(index, labels);
    else this.#changedValues(index, shape);
  }

  /** Returns the payload; undefined if the record is empty. */
  finish(): Buffer | undefined {
    if (this.#count === 0) return undefined;
    this.#buffer[1] = (this.#count & 0x7f) | 0x80;
    this.#buffer[2] = ((this.#count >>> 7) & 0x7f) | 0x80;
    this.#buffer[3] = this.#count >>> 14;
    return this.#buffer.subarray(0, this.#at);
  }

  clear(): void {
    this.#texts.clear();
    this.#shapes.length = 0;
    this.named.length = 0;
    [this.#at, this.#count, this.#last] = [0, 0, 0];
  }

  #begin(type: number, ref: number): void {
    if (this.#count === 0) {
      this.#buffer[0] = type;
      this.#at = 4;
    }
    this.#count++;
    this.#varint(zigzag(ref - this.#last));
    this.#last = ref;
  }

  #findShape(labels: number): Shape | undefined {
    const oldest = Math.max(0, this.#shapes.length - comparedShapes);
    for (let at = this.#shapes.length - 1; at >= oldest; at--) {
      const shape = this.#shapes[at];
      if (shape?.names.length !== labels) continue;
      let same = 0;
      while (same < labels && shape.names[same] === this.#names[same]) same++;
      if (same === labels) return shape;
    }
    return undefined;
  }

  #newShape({ symbols }: LabelIndex, labels: number): void {
    const names = this.#names.slice(0, labels);
    const values = this.#values.slice(0, labels);
    this.#shapes.push({ place: this.#shapes.length, names, values });
    this.#varint(0);
    this.#varint(labels);
    for (const name of names) this.#text(name, symbols.text(name), "");
    for (const value of values) this.#text(value, symbols.text(value), "");
  }

  #changedValues({ symbols }: LabelIndex, { place, values }: Shape): void {
    this.#varint(place + 1);
    const mask = this.#at;
    const bytes = (values.length + 7) >>> 3;
    this.#reserve(bytes);
    this.#buffer.fill(0, mask, mask + bytes);
    this.#at += bytes;
    for (let i = 0; i < values.length; i++) {
      const [before, value] = [values[i] ?? 0, this.#values[i] ?? 0];
      if (before === value) continue;
      const at = mask + (i >>> 3);
      this.#buffer[at] = (this.#buffer[at] ?? 0) | (1 << (i & 7));
      this.#text(value, symbols.text(value), symbols.text(before));
      values[i] = value;
    }
  }

  #text(symbol: number, text: string, replaced: string): void {
    const known = this.#texts.get(symbol);
    if (known !== undefined) return this.#varint(known + 1);
    this.#texts.set(symbol, this.#texts.size);
    const shared = sharedAscii(text, replaced);
    const rest = shared === 0 ? text : text.slice(shared);
    this.#varint(0);
    this.#varint(shared);
    const bytes = Buffer.byteLength(rest);
    this.#varint(bytes);
    this.#reserve(bytes);
    this.#at += this.#buffer.write(rest, this.#at, "utf8");
  }

  #varint(value: number): void {
    this.#reserve(8);
    this.#at = writeVarint(this.#buffer, this.#at, value);
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#buffer.length) return;
    this.#buffer = Buffer.concat([this.#buffer, Buffer.alloc(this.#buffer.length + more)]);
  }
}

function sharedAscii(text: string, replaced: string): number {
  const most = Math.min(text.length, replaced.length, maxShared);
  let shared = 0;
  while (shared < most) {
    const unit = text.charCodeAt(shared);
    if (unit >= 0x80 || unit !== replaced.charCodeAt(shared)) break;
    shared++;
  }
  return shared;
}

type Visit = (ref: number, labels: Label[]) => void;

/**
 * Calls `visit` with each series of a record of either type.
 * @throws RangeError for an invalid payload, after visiting the series before the error
 */
export function readSeriesRecord(payload: Buffer, visit: Visit): void {
  const reader = new RecordReader(payload);
  if (payload[0] === typeSeries) reader.series(visit);
  else reader.textSeries(visit);
}

class RecordReader {
  readonly #payload: Buffer;
  readonly #cursor = { at: 1 };
  readonly #texts: string[] = [];

  constructor(payload: Buffer) {
    this.#payload = payload;
  }

  series(visit: Visit): void {
    const shapes: Label[][] = [];
    let ref = 0;
    for (let left = this.#varint(); left > 0; left--) {
      ref += unzigzag(this.#varint());
      const place = this.#varint();
      const before = shapes[place - 1];
      if (place > 0 && before === undefined)
        throw new RangeError("it names a shape that is not there");
      const labels = before === undefined ? this.#newShape() : this.#changed(before);
      if (before === undefined) shapes.push(labels);
      else shapes[place - 1] = labels;
      visit(ref, labels);
    }
  }

  textSeries(visit: Visit): void {
    let ref = 0;
    for (let left = this.#varint(); left > 0; left--) {
      ref += unzigzag(this.#varint());
      const labels: Label[] = [];
      for (let more = this.#varint(); more > 0; more--) labels.push([this.#text(), this.#text()]);
      visit(ref, labels);
    }
  }

  #newShape(): Label[] {
    const names: string[] = [];
    for (let more = this.#varint(); more > 0; more--) names.push(this.#text(""));
    return names.map((name) => [name, this.#text("")]);
  }

  #changed(before: readonly Label[]): Label[] {
    const mask = this.#cursor.at;
    this.#skip((before.length + 7) >>> 3);
    return before.map((label, i) => {
      const isChanged = ((this.#payload[mask + (i >>> 3)] ?? 0) & (1 << (i & 7))) !== 0;
      return isChanged ? [label[0], this.#text(label[1])] : label;
    });
  }

  /** @param replaced the text whose beginning may be shared; absent in a record without shared beginnings */
  #text(replaced?: string): string {
    const known = this.#varint();
    if (known > 0) {
      const found = this.#texts[known - 1];
      if (found === undefined) throw new RangeError("it names a text that is not there");
      return found;
    }
    const shared = replaced === undefined ? 0 : this.#varint();
    if (shared > Math.min(maxShared, replaced?.length ?? 0))
      throw new RangeError("a text shares more than there is");
    const length = this.#varint();
    const from = this.#cursor.at;
    this.#skip(length);
    const rest = this.#payload.toString("utf8", from, this.#cursor.at);
    const read = shared === 0 ? rest : (replaced ?? "").slice(0, shared) + rest;
    this.#texts.push(read);
    return read;
  }

  #skip(bytes: number): void {
    this.#cursor.at += bytes;
    if (this.#cursor.at > this.#payload.length) throw new RangeError("a label runs past the end");
  }

  #varint(): number {
    return readVarint(this.#payload, this.#cursor);
  }
}
