/**
 * The series of Influx lines: tags become labels, and `measurement_field` the name, or `measurement` alone for the field `value`.
 * Characters that a Prometheus name cannot contain become underscores.
 *
 * Senders repeat the same lines in the same order: parsed lines are cached, and the next line is compared byte by byte with the one
 * expected at its position, so that a known line allocates no string and no object. Bounded.
 */
import type { Label } from "../../model/labels.ts";
import { LabelBlockWriter, labelBlock } from "../samples/block.ts";
import type { BatchBuilder } from "../samples/builder.ts";
import { copyInto } from "../samples/columns.ts";
import { BatchTooLargeError, maxBatchSeries } from "../samples/labels.ts";
import { byteOf, findPlain, LineError, plainText } from "./scan.ts";
import { metricName, nameLabel, TagWriter } from "./tags.ts";

/** A measurement with its tags; the bytes from `keyStart` to `keyEnd` are in the arena, as all cached bytes are. */
export interface MeasurementEntry {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly fields: Field[];
  /** Built when fields come in another order than before. */
  byName: Map<string, Field> | undefined;
}

interface Field {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly blockStart: number;
  readonly blockEnd: number;
  /** The request in which `series` is valid. */
  request: number;
  series: number;
}

const arenaBytes = 32 * 2 ** 20;
const maxFields = 500_000;

export class LineSeriesCache {
  readonly #lines: MeasurementEntry[] = [];
  readonly #byKey = new Map<string, number>();
  readonly #names = new Map<string, Uint8Array>();
  readonly #block = new LabelBlockWriter();
  readonly #tags: TagWriter;
  #arena = new Uint8Array(4_096);
  #used = 0;
  #fieldCount = 0;
  #request = 0;
  #last = -1;
  /** The entry whose tags were written last, and its measurement. */
  #written: MeasurementEntry | undefined;
  #measurement = "";

  constructor(extra: Label | undefined) {
    this.#tags = new TagWriter(extra);
  }

  /** Starts a request: series are numbered from 0 again, and the cache is cleared if it is too large. */
  begin(): void {
    this.#request++;
    this.#last = -1;
    if (this.#used < arenaBytes && this.#fieldCount < maxFields) return;
    this.#lines.length = 0;
    this.#byKey.clear();
    this.#names.clear();
    this.#used = 0;
    this.#fieldCount = 0;
    this.#written = undefined;
  }

  /** @throws LineError if the bytes are not a measurement with tags. */
  line(bytes: Buffer, start: number, end: number): MeasurementEntry {
    const next = this.#lines[this.#last + 1];
    if (next !== undefined && this.#is(next, bytes, start, end)) {
      this.#last++;
      return next;
    }
    const key = bytes.toString("latin1", start, end);
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      this.#last = known;
      return this.#lines[known] as MeasurementEntry;
    }
    this.#writeTags(bytes, start, end);
    const keyStart = this.#keep(bytes, start, end);
    const line: MeasurementEntry = { keyStart, keyEnd: this.#used, fields: [], byName: undefined };
    this.#last = this.#lines.push(line) - 1;
    this.#byKey.set(key, this.#last);
    this.#written = line;
    return line;
  }

  /** @param place the index of the field in its line */
  series(
    line: MeasurementEntry,
    place: number,
    bytes: Buffer,
    start: number,
    end: number,
    into: BatchBuilder,
  ): number {
    let field = line.fields[place];
    if (field === undefined || !this.#is(field, bytes, start, end))
      field = this.#findField(line, bytes, start, end);
    if (field.request !== this.#request) {
      if (into.seriesCount >= maxBatchSeries) throw new BatchTooLargeError();
      field.series = into.rawSeries(this.#arena, field.blockStart, field.blockEnd);
      field.request = this.#request;
    }
    return field.series;
  }

  #findField(line: MeasurementEntry, bytes: Buffer, start: number, end: number): Field {
    const key = bytes.toString("latin1", start, end);
    line.byName ??= new Map(line.fields.map((field) => [this.#text(field), field]));
    const known = line.byName.get(key);
    if (known !== undefined) return known;
    if (this.#written !== line) {
      const own = Buffer.from(this.#arena.buffer);
      this.#writeTags(own, line.keyStart, line.keyEnd);
      this.#written = line;
    }
    this.#writeBlock(plainText(bytes, start, end));
    const keyStart = this.#keep(bytes, start, end);
    const keyEnd = this.#used;
    const blockStart = this.#keep(this.#block.bytes, 0, this.#block.length);
    const field: Field = {
      keyStart,
      keyEnd,
      blockStart,
      blockEnd: this.#used,
      request: 0,
      series: 0,
    };
    line.fields.push(field);
    line.byName.set(key, field);
    this.#fieldCount++;
    return field;
  }

  #writeTags(bytes: Buffer, start: number, end: number): void {
    this.#written = undefined;
    const measurementEnd = findPlain(bytes, start, end, byteOf.comma, byteOf.comma);
    if (measurementEnd === start) throw new LineError("it has no measurement");
    this.#measurement = plainText(bytes, start, measurementEnd);
    this.#tags.write(bytes, measurementEnd, end);
  }

  #writeBlock(field: string): void {
    const joined = field === "value" ? this.#measurement : `${this.#measurement}_${field}`;
    let name = this.#names.get(joined);
    if (name === undefined)
      this.#names.set(joined, (name = labelBlock(nameLabel, metricName(joined))));
    const { before, after } = this.#tags;
    const block = this.#block;
    block.clear();
    block.append(before.bytes, 0, before.length);
    block.append(name, 0, name.length);
    block.append(after.bytes, 0, after.length);
  }

  #keep(bytes: Uint8Array, start: number, end: number): number {
    const at = this.#used;
    const needed = at + end - start;
    if (needed > this.#arena.length)
      this.#arena = copyInto(this.#arena, new Uint8Array(Math.max(needed, this.#arena.length * 2)));
    this.#arena.set(bytes.subarray(start, end), at);
    this.#used = needed;
    return at;
  }

  #is(
    kept: { keyStart: number; keyEnd: number },
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const { keyStart, keyEnd } = kept;
    const length = end - start;
    if (keyEnd - keyStart !== length) return false;
    const arena = this.#arena;
    for (let i = 0; i < length; i++) if (arena[keyStart + i] !== bytes[start + i]) return false;
    return true;
  }

  #text({ keyStart, keyEnd }: Field): string {
    return Buffer.from(this.#arena.buffer, keyStart, keyEnd - keyStart).toString("latin1");
  }
}
