/**
 * Parses lines of a GPU-Z log to rows, from chunks of any size. Pure: never reads a file or a clock. Damaged lines are skipped and
 * counted, and never shift a value into another column.
 */
import { type GpuzHeader, isHeader, parseHeader } from "./header.ts";
import { localTimeMs } from "./time.ts";

/*
 * Splits the bytes of a GPU-Z log into lines. The log is cp1252 without a byte order mark (° is the single byte 0xB0), with CRLF or
 * LF. Where another program truncated the live file, it holds a run of NULs with the next row behind it on the same line: a NUL
 * ends a line. Never holds more than one line in memory, however long the run or the line.
 */

/** No real row is near this length; a longer line is skipped entirely. */
const longestLineBytes = 65_536;

class LineSplitter {
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #tooLong = false;
  /** Number of lines skipped because of their length. */
  overlong = 0;

  /** Complete lines, without their line ends; empty lines are left out. */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = buffer.indexOf(0x0a); end !== -1; end = buffer.indexOf(0x0a, start)) {
      const line = this.#plainLine(buffer, start, end);
      if (line === undefined) this.#split(buffer.subarray(start, end + 1), lines);
      else if (!isBlank(line)) lines.push(line);
      start = end + 1;
    }
    this.#split(buffer.subarray(start), lines);
    return lines;
  }

  /** A whole line that ends with LF or CRLF and has no other line end; undefined for any other. */
  #plainLine(buffer: Buffer, start: number, end: number): string | undefined {
    if (this.#keptBytes > 0 || this.#tooLong || end - start > longestLineBytes) return undefined;
    const hasCr = end > start && buffer[end - 1] === 0x0d;
    const line = buffer.toString("latin1", start, hasCr ? end - 1 : end);
    return line.includes("\r") || line.includes("\0") ? undefined : line;
  }

  #split(bytes: Buffer, lines: string[]): void {
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x0a && byte !== 0x0d && byte !== 0x00) continue;
      const isFirst = this.#keptBytes === 0 && !this.#tooLong;
      if (isFirst && at > start && at - start <= longestLineBytes) {
        const line = bytes.toString("latin1", start, at);
        if (!isBlank(line)) lines.push(line);
      } else if (at > start || !isFirst) {
        this.#keep(bytes.subarray(start, at));
        const line = this.#take();
        if (line !== undefined) lines.push(line);
      }
      start = at + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  /** The last line if no line end followed it: it may be cut anywhere. */
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
  /** The date as written, parsed as UTC: the log does not contain its time zone. */
  readonly localMs: number;
  /** One per column of the header; undefined if the row is cut short. */
  readonly cells: readonly (string | undefined)[];
}

export interface RowCounts {
  rows: number;
  headers: number;
  /** Rows before any header: their columns are unknown. */
  beforeHeader: number;
  /** Rows cut short by the end of the file or by the next row; their complete cells are used. */
  cut: number;
  /** Lines that are neither a header nor a row with as many cells as its header. */
  unusable: number;
  /** Rows with a decimal comma. */
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
  /** True if a row of this log has decimal points. */
  #hasPoints = false;
  #day: { readonly text: string; readonly ms: number } | undefined;

  /** @param unusable receives every skipped line, with the reason */
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

  /** The end of the file: a last line without a line end yields its complete cells. */
  end(): GpuzRow[] {
    const last = this.#lines.end();
    return last === undefined ? [] : this.#line(last, false);
  }

  /** The file restarts, because it was truncated or replaced; the columns stay valid until the next header. */
  restart(): void {
    this.#lines = new LineSplitter();
    this.#hasPoints = false;
  }

  /**
   * Parses an ordinary row in one pass: a date in whole seconds at the start, one value in each cell, as many cells as the header
   * has. Undefined for every other line; `#line` handles those.
   */
  #plainRow(line: string): GpuzRow | undefined {
    const header = this.#header;
    if (header === undefined || header.columns.length === 0) return undefined;
    const localMs = this.#plainDateMs(line);
    if (localMs === undefined) return undefined;
    const cells: string[] = [];
    // Positions of the first and the last character of the cell's value; -1 if there is none yet.
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
      // A second date, a header, or white space that is not a space or tab.
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

  /** The time of `2020-03-16 17:13:05` at the start of a line. The rows of a day share its date. */
  #plainDateMs(line: string): number | undefined {
    const day = line.slice(0, 10);
    if (this.#day?.text !== day) {
      const ms = localTimeMs(`${day} 00:00:00`);
      if (ms === undefined) return undefined;
      this.#day = { text: day, ms };
    }
    if (line.charCodeAt(10) !== 0x20 || line[13] !== ":" || line[16] !== ":") return undefined;
    const [hour, minute, second] = [twoDigits(line, 11), twoDigits(line, 14), twoDigits(line, 17)];
    // NaN fails this check too.
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
      // A header without its line end may lack columns, and the following rows would not fit: the previous one stays in use.
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
      this.#unusable(line, "the line does not begin with a date and is not a header");
      return [];
    }
    const header = this.#header;
    if (header === undefined) {
      this.counts.beforeHeader++;
      this.#unusable(line, "the row comes before any header: its columns are unknown");
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
      // The rest of the log shows whether a comma between digits is a decimal comma: a log uses either points or commas.
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
    // The last cell of a cut row, or of a line without its line end, may be part of a number.
    const whole = isCut || !ended ? cells.length - 1 : cells.length;
    return header.columns.map((_, index) =>
      index + 1 < whole ? cells[index + 1]?.trim() : undefined,
    );
  }
}

/** True if any number has a decimal point; the date's fraction of a second does not count. */
const hasPoint = (cells: readonly string[]): boolean =>
  cells.slice(1).some((cell) => /\d\.\d/.test(cell));

/** True if one cell holds two values. */
function isMerged(cell: string): boolean {
  const values = cell.trim().split(/\s+/);
  return values.length > 1 && values.every((value) => /^(?:[+-]?\d[\d.]*|-|n\/?a)$/i.test(value));
}

/** True if the row was written to its end: GPU-Z ends each row like its header, with a comma or without. */
function isComplete(cells: readonly string[], header: GpuzHeader): boolean {
  const endsInComma = header.cells > header.columns.length + 1;
  return !endsInComma || cells.at(-1)?.trim() === "";
}

/** Splits a line in which another row or header begins: the program died while writing a row, or the file was truncated. */
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
