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
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x0a && byte !== 0x0d && byte !== 0x00) continue;
      if (at > start || this.#keptBytes > 0 || this.#tooLong) {
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
    if (!tooLong) return text.trim() === "" ? undefined : text;
    this.overlong++;
    return undefined;
  }
}

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

  /** Reported every line that is left out, with why. */
  constructor(unusable: (line: string, reason: string) => void = () => {}) {
    this.#unusable = unusable;
  }

  get header(): GpuzHeader | undefined {
    return this.#header;
  }

  push(bytes: Uint8Array): GpuzRow[] {
    const overlong = this.#lines.overlong;
    const rows = this.#lines.push(bytes).flatMap((line) => this.#line(line, true));
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
