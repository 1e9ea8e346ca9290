/**
 * Decodes Influx's line protocol into columns. Invalid lines are skipped and reported, the others are accepted; string fields are
 * only counted, since gpulse stores none.
 */
import type { Label } from "../../model/labels.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { BatchBuilder } from "../samples/builder.ts";
import { maxBadParts, maxBatchLabelBytes } from "../samples/labels.ts";
import {
  readFloat,
  readInteger,
  readTimeMs,
  byteOf,
  findPlain,
  LineError,
  quotedEnd,
} from "./scan.ts";
import { LineSeriesCache } from "./series.ts";

export interface LineOptions {
  /** The unit of the timestamps, in milliseconds. */
  readonly unitMs: number;
  /** The time of lines without a timestamp. */
  readonly nowMs: number;
  /** A label for every series whose tags do not contain it. */
  readonly extra?: Label | undefined;
}

export interface BadLine {
  readonly number: number;
  readonly sentence: string;
}

export interface DecodedLines {
  readonly batch: SampleBatch;
  readonly texts: number;
  readonly badLines: number;
  readonly firstBad: BadLine | undefined;
}

/** The input is not line protocol: none of its lines is accepted. */
export class TooManyBadLinesError extends Error {
  constructor({ number, sentence }: BadLine) {
    super(`more than ${maxBadParts} lines are not understood, line ${number} first: ${sentence}`);
  }
}

/** Decodes one request after the other, and caches what it parsed for the next. */
export class LineDecoder {
  readonly #books = new Map<string, LineSeriesCache>();

  decode(bytes: Buffer, options: LineOptions): DecodedLines {
    const key = JSON.stringify(options.extra ?? []);
    if (this.#books.size >= maxLayouts && !this.#books.has(key)) this.#books.clear();
    let book = this.#books.get(key);
    if (book === undefined) this.#books.set(key, (book = new LineSeriesCache(options.extra)));
    book.begin();
    return decodeWith(bytes, options, book);
  }
}

/** Limit of caches, one per label added to all series of a request: clients use few such labels. */
const maxLayouts = 8;

function decodeWith(bytes: Buffer, options: LineOptions, book: LineSeriesCache): DecodedLines {
  const builder = new BatchBuilder(maxBatchLabelBytes);
  const line = new LineReader(bytes, builder, options, book);
  const { length } = bytes;
  let badLines = 0;
  let firstBad: BadLine | undefined;
  for (let [at, number] = [0, 1]; at < length; number++) {
    at = skipSpaces(bytes, at);
    const first = bytes[at];
    if (first === byteOf.newline || first === byteOf.carriage || first === byteOf.hash) {
      at = lineEnd(bytes, at) + 1;
      continue;
    }
    const textsBefore = line.texts;
    try {
      const end = line.read(at);
      // Only string fields can contain line breaks.
      if (line.texts > textsBefore) number += newlines(bytes, at, end);
      at = end + 1;
    } catch (thrown) {
      if (!(thrown instanceof LineError)) throw thrown;
      const end = lineEnd(bytes, at);
      if (!isBlank(bytes, at, end)) {
        firstBad ??= { number, sentence: thrown.message };
        if (++badLines > maxBadParts) throw new TooManyBadLinesError(firstBad);
      }
      at = end + 1;
    }
  }
  return { batch: builder.finish(), texts: line.texts, badLines, firstBad };
}

class LineReader {
  texts = 0;
  readonly #bytes: Buffer;
  readonly #builder: BatchBuilder;
  readonly #options: LineOptions;
  readonly #book: LineSeriesCache;
  /** The fields of the current line: positions of their keys, and their values. A line is accepted as a whole or not at all. */
  #keys: number[] = [];
  #values: number[] = [];

  constructor(bytes: Buffer, builder: BatchBuilder, options: LineOptions, book: LineSeriesCache) {
    this.#bytes = bytes;
    this.#builder = builder;
    this.#options = options;
    this.#book = book;
  }

  /** Reads the line that begins at `start` and returns its end. */
  read(start: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    const keyEnd = findPlain(bytes, start, length, byteOf.space, byteOf.space);
    if (bytes[keyEnd] !== byteOf.space) throw new LineError("it has no fields");
    this.#keys.length = 0;
    this.#values.length = 0;
    let texts = 0;
    let at = skipSpaces(bytes, keyEnd);
    for (;;) {
      const equals = findPlain(bytes, at, length, byteOf.equals, byteOf.space);
      if (bytes[equals] !== byteOf.equals || equals === at)
        throw new LineError("a field is not name=value");
      const valueEnd = this.#value(at, equals);
      if (valueEnd < 0) texts++;
      at = Math.abs(valueEnd);
      if (bytes[at] !== byteOf.comma) break;
      at++;
    }
    const end = lineEnd(bytes, at);
    const timeMs = this.#time(at, end);
    const line = this.#book.line(bytes, start, keyEnd);
    for (let field = 0; field < this.#values.length; field++) {
      const [from, to] = [this.#keys[field * 2] as number, this.#keys[field * 2 + 1] as number];
      const series = this.#book.series(line, field, bytes, from, to, this.#builder);
      this.#builder.add(series, timeMs, this.#values[field] as number);
    }
    this.texts += texts;
    return end;
  }

  /** Returns the end of the value; negative if it was a string. */
  #value(keyStart: number, equals: number): number {
    const bytes = this.#bytes;
    const start = equals + 1;
    if (bytes[start] === byteOf.quote) return -quotedEnd(bytes, start, bytes.length);
    let end = start;
    for (; end < bytes.length; end++) {
      const byte = bytes[end] as number;
      if (byte === byteOf.comma || byte <= byteOf.space) break;
    }
    const value = readValue(bytes, start, end);
    if (value === undefined)
      throw new LineError(
        `"${bytes.toString("utf8", start, Math.min(end, start + 40))}" is not a value`,
      );
    this.#keys.push(keyStart, equals);
    this.#values.push(value);
    return end;
  }

  #time(start: number, lineEndsAt: number): number {
    const bytes = this.#bytes;
    const from = skipSpaces(bytes, start);
    let to = lineEndsAt;
    while (to > from && (bytes[to - 1] as number) <= byteOf.space) to--;
    if (from < to && from === start) throw new LineError("there is something behind a value");
    if (from >= to) return this.#options.nowMs;
    const timeMs = readTimeMs(bytes, from, to, this.#options.unitMs);
    if (timeMs === undefined)
      throw new LineError(
        `"${bytes.toString("utf8", from, Math.min(to, from + 40))}" is not a timestamp`,
      );
    return timeMs;
  }
}

const truths = new Map([
  ...["t", "T", "true", "True", "TRUE"].map((text) => [text, 1] as const),
  ...["f", "F", "false", "False", "FALSE"].map((text) => [text, 0] as const),
]);

function readValue(bytes: Buffer, start: number, end: number): number | undefined {
  if (end === start) return undefined;
  const last = bytes[end - 1] as number;
  // 1i and 1u are integers, 1 and 1.5 floats.
  if (last === 0x69 || last === 0x75)
    return end - start > 1 ? readInteger(bytes, start, end - 1) : undefined;
  const first = bytes[start] as number;
  if (first <= 0x39) return readFloat(bytes, start, end);
  return end - start <= 5 ? truths.get(bytes.toString("latin1", start, end)) : undefined;
}

function skipSpaces(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === byteOf.space) at++;
  return at;
}

function lineEnd(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(byteOf.newline, start);
  return end < 0 ? bytes.length : end;
}

function newlines(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(byteOf.newline, start); at >= 0 && at < end; count++)
    at = bytes.indexOf(byteOf.newline, at + 1);
  return count;
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) > byteOf.space) return false;
  return true;
}
