/**
 * Imports metrics as text with timestamps, in Prometheus's format or OpenMetrics: parsed in blocks of lines, so that a dump of
 * any size fits into memory. An invalid line is skipped; the others of its block are imported.
 */
import { openSync, readSync, closeSync, statSync } from "node:fs";
import { ExpositionError, type TextFormat } from "../../formats/exposition/visit.ts";
import { parsePage } from "../../formats/exposition/parse.ts";
import { SeriesMemory } from "../../formats/exposition/series-memory.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { type FileLine, readLines } from "./lines.ts";
import {
  type ImportBatch,
  type ImportSource,
  overrideLabels,
  type SkippedSamples,
} from "./source.ts";

const maxLineBytes = 1024 * 1024;
const blockLines = 5_000;
const blockBytes = 4 * 1024 * 1024;
const eof = Buffer.from("# EOF\n");

export interface ExpositionImport {
  readonly file: string;
  readonly format: TextFormat;
  readonly set: Readonly<Record<string, string>>;
  readonly skipped: SkippedSamples;
}

export function openExpositionImport(options: ExpositionImport): ImportSource {
  return {
    format: options.format === "openmetrics" ? "openmetrics" : "prometheus-text",
    pieces: (after, signal) => read(options, after, signal),
  };
}

/**
 * OpenMetrics ends with an EOF marker; its times are in seconds, Prometheus's in milliseconds. A truncated file has no marker
 * and is recognized by its name.
 */
export function formatOfFile(file: string): TextFormat {
  if (/\.(om|openmetrics)$/i.test(file)) return "openmetrics";
  const { size } = statSync(file);
  const tail = Buffer.alloc(Math.min(size, 64));
  const handle = openSync(file, "r");
  try {
    readSync(handle, tail, 0, tail.length, size - tail.length);
  } finally {
    closeSync(handle);
  }
  return /(^|\n)# EOF\s*$/.test(tail.toString("latin1")) ? "openmetrics" : "text";
}

async function* read(
  options: ExpositionImport,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ImportBatch> {
  const size = Math.max(1, statSync(options.file).size);
  let block: FileLine[] = [];
  let bytes = 0;
  const takeBatch = (): ImportBatch | undefined => {
    const position = block.at(-1)?.end ?? 0;
    const batch = position > after ? readBlock(block, options) : undefined;
    block = [];
    bytes = 0;
    return batch === undefined ? undefined : { batch, position, fraction: position / size };
  };
  for await (const line of readLines(options.file, maxLineBytes, signal)) {
    if (line.tooLong) options.skipped.add("lines that are too long", line.number);
    else if (!isEof(line)) {
      block.push(line);
      bytes += line.bytes.length;
    }
    if (block.length < blockLines && bytes < blockBytes) continue;
    const piece = takeBatch();
    if (piece !== undefined) yield piece;
  }
  const piece = block.length === 0 ? undefined : takeBatch();
  if (piece !== undefined) yield piece;
}

const isEof = ({ bytes }: FileLine): boolean =>
  bytes.length < 16 && bytes.toString("latin1").trim() === "# EOF";

function readBlock(
  block: readonly FileLine[],
  options: ExpositionImport,
): ReturnType<BatchBuilder["finish"]> {
  const whole = new BatchBuilder();
  const untimed = { count: 0 };
  try {
    readInto(whole, Buffer.concat(block.map(({ bytes }) => bytes)), options, () => untimed.count++);
    if (untimed.count > 0)
      options.skipped.add("samples without a time of their own", undefined, untimed.count);
    return whole.finish();
  } catch (thrown) {
    if (!(thrown instanceof ExpositionError)) throw thrown;
  }
  // A line of the block is invalid: each line is parsed separately.
  const builder = new BatchBuilder();
  for (const { bytes, number } of block) {
    try {
      readInto(builder, bytes, options, () =>
        options.skipped.add("samples without a time of their own", number),
      );
    } catch (thrown) {
      if (!(thrown instanceof ExpositionError)) throw thrown;
      options.skipped.add("lines that are not a sample", number);
    }
  }
  return builder.finish();
}

function readInto(
  builder: BatchBuilder,
  lines: Buffer,
  { format, set }: ExpositionImport,
  untimed: () => void,
): void {
  const ended = lines.at(-1) === 10 ? lines : Buffer.concat([lines, Buffer.from("\n")]);
  const page = format === "openmetrics" ? Buffer.concat([ended, eof]) : ended;
  parsePage(page, format, new SeriesMemory<number>(), {
    open: (labels) => builder.series(overrideLabels(labels, set)),
    sample: (series, value, timeMs) => {
      if (timeMs === undefined) untimed();
      else builder.add(series, timeMs, value);
    },
  });
}
