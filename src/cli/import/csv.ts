/**
 * Imports the CSV that `gpulse query --csv` prints: one column per label, then `time` and `value`, one row per sample. Read as
 * a stream; quoted cells may contain line breaks.
 */
import { statSync } from "node:fs";
import { GpulseError } from "../../base/error.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { parseTimeMs } from "../../config/time.ts";
import { labelSet } from "../../model/labels.ts";
import { readLines } from "./lines.ts";
import {
  type ImportBatch,
  type ImportSource,
  samplesPerImportBatch,
  type SkippedSamples,
} from "./source.ts";

const maxRecordBytes = 1024 * 1024;
const maxColumns = 200;

export interface CsvImport {
  readonly file: string;
  readonly set: Readonly<Record<string, string>>;
  readonly skipped: SkippedSamples;
}

export function openCsvImport(options: CsvImport): ImportSource {
  return { format: "csv", pieces: (after, signal) => read(options, after, signal) };
}

async function* read(
  { file, set, skipped }: CsvImport,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ImportBatch> {
  const size = Math.max(1, statSync(file).size);
  let columns: readonly string[] | undefined;
  let builder = new BatchBuilder();
  let series = new Map<string, number>();
  let last = 0;
  const takeBatch = (): ImportBatch => {
    const batch = builder.finish();
    builder = new BatchBuilder();
    series = new Map();
    return { batch, position: last, fraction: last / size };
  };
  for await (const { cells, line, end } of records(file, signal, skipped)) {
    last = end;
    if (columns === undefined) {
      columns = header(cells, file, set);
      continue;
    }
    const sample = readRecord(columns, cells, set);
    if (typeof sample === "string") skipped.add(sample, line);
    else {
      const key = JSON.stringify(sample.labels);
      let index = series.get(key);
      if (index === undefined) {
        index = builder.series(labelSet(sample.labels));
        series.set(key, index);
      }
      builder.add(index, sample.timeMs, sample.value);
    }
    if (builder.sampleCount < samplesPerImportBatch) continue;
    const piece = takeBatch();
    if (piece.position > after) yield piece;
  }
  if (columns === undefined) throw new GpulseError("FILE_FORMAT", `${file} is empty.`);
  if (builder.sampleCount > 0 && last > after) yield takeBatch();
}

function header(
  cells: readonly string[],
  file: string,
  set: Readonly<Record<string, string>>,
): readonly string[] {
  const names = cells.map(armed);
  if (!names.includes("time") || !names.includes("value"))
    throw new GpulseError(
      "FILE_FORMAT",
      `${file} is not a gpulse CSV: its first line has no columns time and value. Write one with gpulse query --csv.`,
    );
  if (!names.includes("__name__") && set["__name__"] === undefined)
    throw new GpulseError(
      "FILE_FORMAT",
      `${file} contains no metric name. Set it with --label __name__=NAME.`,
    );
  if (names.length > maxColumns || new Set(names).size !== names.length)
    throw new GpulseError("FILE_FORMAT", `${file} has too many columns, or one of them twice.`);
  return names;
}

type Sample = { labels: Record<string, string>; timeMs: number; value: number };

/** Parses a record into a sample, or the reason why it is skipped. */
function readRecord(
  columns: readonly string[],
  cells: readonly string[],
  set: Readonly<Record<string, string>>,
): Sample | string {
  if (cells.length !== columns.length) return "lines with another number of cells than the first";
  const labels: Record<string, string> = {};
  let timeMs: number | undefined;
  let value: number | undefined;
  for (const [at, name] of columns.entries()) {
    const cell = cells[at] ?? "";
    if (name === "time") timeMs = parseTimeMs(cell);
    else if (name === "value") value = readValue(cell);
    else labels[name] = armed(cell);
  }
  if (timeMs === undefined) return "lines with an invalid timestamp";
  if (value === undefined) return "lines whose value is not a number";
  return { labels: { ...labels, ...set }, timeMs, value };
}

function readValue(cell: string): number | undefined {
  if (cell === "NaN") return Number.NaN;
  if (/^\+?Inf$/.test(cell)) return Infinity;
  if (cell === "-Inf") return -Infinity;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cell) ? Number(cell) : undefined;
}

/** Removes the apostrophe that protects a cell from being run as a spreadsheet formula. */
const armed = (cell: string): string => (/^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);

interface CsvRecord {
  readonly cells: readonly string[];
  /** Line on which the record begins. */
  readonly line: number;
  readonly end: number;
}

async function* records(
  file: string,
  signal: AbortSignal,
  skipped: SkippedSamples,
): AsyncGenerator<CsvRecord> {
  let text = "";
  let first = 0;
  for await (const line of readLines(file, maxRecordBytes, signal)) {
    if (line.tooLong || text.length + line.bytes.length > maxRecordBytes) {
      skipped.add("lines that are too long", line.number);
      text = "";
      continue;
    }
    if (text === "") first = line.number;
    text += line.bytes.toString("utf8");
    // An odd number of quotes: the record continues on the next line.
    if (text.split('"').length % 2 === 0) continue;
    const record = text.replace(/\r?\n$/, "").replace(/^\uFEFF/, "");
    text = "";
    if (record !== "") yield { cells: splitRecord(record), line: first, end: line.end };
  }
  if (text !== "") skipped.add("a last line that is cut inside a quoted cell", first);
}

function splitRecord(record: string): string[] {
  if (!record.includes('"')) return record.split(",");
  const cells: string[] = [];
  const cell = /("(?:[^"]|"")*"|[^,]*)(,|$)/gy;
  for (;;) {
    const match = cell.exec(record);
    if (match === null) return cells;
    const [, given = "", separator] = match;
    cells.push(given.startsWith('"') ? given.slice(1, -1).replaceAll('""', '"') : given);
    if (separator === "") return cells;
  }
}
