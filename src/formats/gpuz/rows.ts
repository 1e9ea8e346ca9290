/**
 * Lines of a GPU-Z log to rows, as they come, in pieces of any size. Pure: never reads a file or a clock. What is damaged
 * is left out and counted, and never shifts a value into another column.
 */
import { type GpuzHeader, isHeader, parseHeader } from "./header.ts";
import { localTimeMs } from "./time.ts";

/*
 * Bytes of a GPU-Z log to lines. The log is cp1252 without a mark (° is the single byte 0xB0), CRLF or LF, and where
 * another program cut the live file short it holds a run of NULs with the next row behind it on the same line: a NUL
 * ends a line. Never holds more than one line in memory, however long the run or the line.
 */

/** No real row is near this long; what is longer is not a log, and is left out whole. */
const longestLineBytes = 65_536;

class LineSplitter {
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #tooLong = false;
  /** Lines left out because they were too long. */
  overlong = 0;

  /** Whole lines, without their ends; empty ones are left out. */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x0a && byte !== 0x0d && byte !== 0x00) continue;
      const isFirst = this.#keptBytes === 0 && !this.#tooLong;
      if (isFirst && at > start && at - start <= longestLineBytes) {
        const line = buffer.toString("latin1", start, at);
        if (!isBlank(line)) lines.push(line);
      } else if (at > start || !isFirst) {
        this.#keep(bytes.subarray(start, at));
        const line = this.#take();
        if (line !== undefined) lines.push(line);
      }
      start = at + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return lines;
  }

  /** The last line, which no line end followed: it may be cut anywhere. */
  end(): string | undefined {
    return this.#keptBytes > 0 || this.#tooLong ? this.#take() : undefined;
  }

  #keep(part: Uint8Array): void {
    if (this.#tooLong || part.length === 0) return;
    if (this.#keptBytes + part.length > longestLineBytes) {
      this.#tooLong = true;
      this.#kept = [];
      this.#keptBytes = 0;
      return;
    }
    this.#kept.push(part.slice());
    this.#keptBytes += part.length;
  }

  #take(): string | undefined {
    const tooLong = this.#tooLong;
    const text = Buffer.concat(this.#kept).toString("latin1");
    this.#kept = [];
    this.#keptBytes = 0;
    this.#tooLong = false;
    if (!tooLong) return isBlank(text) ? undefined : text;
    this.overlong++;
    return undefined;
  }
}

const isBlank = (line: string): boolean => line.charCodeAt(0) <= 0xa0 && !/\S/.test(line);

export interface GpuzRow {
  readonly header: GpuzHeader;
  /** The date as written, read as if it were UTC: the log does not say its zone. */
  readonly localMs: number;
  /** One per column of the header; undefined where the row is cut short. */
  readonly cells: readonly (string | undefined)[];
}

export interface RowCounts {
  rows: number;
  headers: number;
  /** Rows seen before any header: their columns are unknown. */
  beforeHeader: number;
  /** Rows the end of the file or the next row cut short; what was whole of them is used. */
  cut: number;
  /** Lines that are neither header nor a row with as many cells as its header. */
  unusable: number;
  /** Rows that write a comma in place of the decimal point. */
  decimalComma: number;
}

const dateLength = "2020-03-16 17:13:05".length;

function twoDigits(line: string, at: number): number {
  const [tens, ones] = [line.charCodeAt(at) - 0x30, line.charCodeAt(at + 1) - 0x30];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

const dateAtStart = /^\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)\s*,/;
const dateInside = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? *,/g;

export class RowParser {
  readonly counts: RowCounts = {
    rows: 0,
    headers: 0,
    beforeHeader: 0,
    cut: 0,
    unusable: 0,
    decimalComma: 0,
  };
  readonly #unusable: (line: string, reason: string) => void;
  #lines = new LineSplitter();
  #header: GpuzHeader | undefined;
  /** Whether a row of this log was written with decimal points. */
  #hasPoints = false;
  #day: { readonly text: string; readonly ms: number } | undefined;

  /** Reported every line that is left out, with why. */
  constructor(unusable: (line: string, reason: string) => void = () => {}) {
    this.#unusable = unusable;
  }

  get header(): GpuzHeader | undefined {
    return this.#header;
  }

  push(bytes: Uint8Array): GpuzRow[] {
    const overlong = this.#lines.overlong;
    const rows: GpuzRow[] = [];
    for (const line of this.#lines.push(bytes)) {
      const row = this.#plainRow(line);
      if (row === undefined) rows.push(...this.#line(line, true));
      else rows.push(row);
    }
    this.counts.unusable += this.#lines.overlong - overlong;
    return rows;
  }

  /** The file ends here for good: a last line without an end gives what is whole of it. */
  end(): GpuzRow[] {
    const last = this.#lines.end();
    return last === undefined ? [] : this.#line(last, false);
  }

  /** The file begins again, cut short or replaced; the columns stay known until a header says otherwise. */
  restart(): void {
    this.#lines = new LineSplitter();
    this.#hasPoints = false;
  }

  /**
   * A row as nearly all are, in one pass: a date in whole seconds at the start, one value in each cell, as many cells as the
   * header has. Undefined for every other line, which `#line` looks at closely.
   */
  #plainRow(line: string): GpuzRow | undefined {
    const header = this.#header;
    if (header === undefined || header.columns.length === 0) return undefined;
    const localMs = this.#plainDateMs(line);
    if (localMs === undefined) return undefined;
    const cells: string[] = [];
    // The first and the last character of the cell's value; -1 before there is one.
    let [first, last] = [-1, -1];
    let count = 0;
    for (let at = dateLength; at <= line.length; at++) {
      const code = at === line.length ? 0x2c : line.charCodeAt(at);
      if (code === 0x20 || code === 0x09) continue;
      if (code === 0x2c) {
        if (count > 0) cells.push(first === -1 ? "" : line.slice(first, last + 1));
        else if (first !== -1) return undefined;
        count++;
        first = -1;
        continue;
      }
      // Another date, a header, and white space that is not a space or tab.
      if (code === 0x3a || code === 0x44 || code === 0xa0 || code < 0x20) return undefined;
      if (first === -1) first = at;
      else if (last !== at - 1) return undefined;
      last = at;
    }
    if (count !== header.cells) return undefined;
    cells.length = header.columns.length;
    this.#hasPoints ||= cells.some((cell) => /\d\.\d/.test(cell));
    this.counts.rows++;
    return { header, localMs, cells };
  }

  /** Of `2020-03-16 17:13:05` at the start of a line. Rows of a day share its date. */
  #plainDateMs(line: string): number | undefined {
    const day = line.slice(0, 10);
    if (this.#day?.text !== day) {
      const ms = localTimeMs(`${day} 00:00:00`);
      if (ms === undefined) return undefined;
      this.#day = { text: day, ms };
    }
    if (line.charCodeAt(10) !== 0x20 || line[13] !== ":" || line[16] !== ":") return undefined;
    const [hour, minute, second] = [twoDigits(line, 11), twoDigits(line, 14), twoDigits(line, 17)];
    // NaN fails too.
    return hour < 24 && minute < 60 && second < 60
      ? this.#day.ms + ((hour * 60 + minute) * 60 + second) * 1_000
      : undefined;
  }

  #line(line: string, ended: boolean): GpuzRow[] {
    const parts = unglue(line.replace(/^(?:\u00ef\u00bb\u00bf)/, ""));
    return parts.flatMap((part, index) => this.#part(part, ended && index === parts.length - 1));
  }

  #part(line: string, ended: boolean): GpuzRow[] {
    if (isHeader(line)) {
      // A header without its line end may lack columns: rows that follow would not fit, so the one before is kept.
      const header = ended ? parseHeader(line) : undefined;
      if (header === undefined) {
        this.counts.unusable++;
        this.#unusable(line, "the header is cut off");
        return [];
      }
      this.counts.headers++;
      this.#header = this.#header?.text === header.text ? this.#header : header;
      return [];
    }
    const localMs = localTimeMs(dateAtStart.exec(line)?.[1] ?? "");
    if (localMs === undefined) {
      this.counts.unusable++;
      this.#unusable(line, "the line begins with no date, and is no header");
      return [];
    }
    const header = this.#header;
    if (header === undefined) {
      this.counts.beforeHeader++;
      this.#unusable(line, "the row stands before any header: its columns are unknown");
      return [];
    }
    const cells = this.#cells(line, header, ended);
    if (typeof cells === "string") {
      this.counts.unusable++;
      this.#unusable(line, cells);
      return [];
    }
    this.counts.rows++;
    return [{ header, localMs, cells }];
  }

  /** One cell per column, or why the row does not fit its header. */
  #cells(
    line: string,
    header: GpuzHeader,
    ended: boolean,
  ): readonly (string | undefined)[] | string {
    let cells = line.split(",");
    if (cells.length > header.cells) {
      // Whether a comma between digits is a decimal comma shows in the rest of the log: one writes points or commas.
      cells = line.split(/(?<!\d),|,(?!\d)/);
      if (cells.length !== header.cells || this.#hasPoints || hasPoint(cells))
        return "the row has more cells than its header";
      cells = cells.map((cell) => cell.replace(",", "."));
      this.counts.decimalComma++;
    } else if (!this.#hasPoints) this.#hasPoints = hasPoint(cells);
    if (cells.slice(1).some(isMerged)) return "the row lacks a comma between two values";
    const isCut = cells.length < header.cells;
    if (isCut && ended && isComplete(cells, header))
      return "the row has fewer cells than its header";
    if (isCut) this.counts.cut++;
    // The last cell of a cut row, or of a line without its end, may be a part of a number.
    const whole = isCut || !ended ? cells.length - 1 : cells.length;
    return header.columns.map((_, index) =>
      index + 1 < whole ? cells[index + 1]?.trim() : undefined,
    );
  }
}

/** Whether any number is written with a decimal point; the date's fraction of a second does not count. */
const hasPoint = (cells: readonly string[]): boolean =>
  cells.slice(1).some((cell) => /\d\.\d/.test(cell));

/** Two values in one cell. */
function isMerged(cell: string): boolean {
  const values = cell.trim().split(/\s+/);
  return values.length > 1 && values.every((value) => /^(?:[+-]?\d[\d.]*|-|n\/?a)$/i.test(value));
}

/** Whether the row was written to its end: GPU-Z ends each line as its header, with a comma or without. */
function isComplete(cells: readonly string[], header: GpuzHeader): boolean {
  const endsInComma = header.cells > header.columns.length + 1;
  return !endsInComma || cells.at(-1)?.trim() === "";
}

/** A row or header that begins inside a line: the program died in the middle of the row before, or the file was cut. */
function unglue(line: string): string[] {
  const starts = new Set<number>([0]);
  for (const { index } of line.matchAll(dateInside)) starts.add(index);
  for (let at = line.indexOf("Date"); at !== -1; at = line.indexOf("Date", at + 4)) {
    if (/^Date {0,64},/.test(line.slice(at, at + 80)) && !/[^\s,]/.test(line[at - 1] ?? " "))
      starts.add(at);
  }
  const sorted = [...starts].sort((left, right) => left - right);
  return sorted
    .map((start, index) => line.slice(start, sorted[index + 1]))
    .filter((part) => part.trim() !== "");
}
