/**
 * Runs analyses on DuckDB inside this process: its own threads do the work, so the event loop stays free. It reads only the given
 * files: no extension is downloaded, and only its temporary folder is written.
 */
import { totalmem } from "node:os";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { GpulseError, formatError } from "../../../base/error.ts";
import type { Analysis, AnalysisResult, ResultCell } from "../analysis.ts";
import { duckdbDialect, textSql } from "../dialect.ts";
import type { AnalysisSettings } from "../parameters.ts";
import {
  analysisSql,
  type LakePart,
  type LakeSpan,
  type LakeView,
  samplesSql,
} from "../statement.ts";

export interface DuckdbOptions {
  /** The folder for data that does not fit into memory. */
  readonly tempDir: string;
  readonly memoryBytes?: number;
  readonly threads?: number;
}

export interface AnalysisRun {
  readonly analyses: readonly Analysis[];
  readonly settings: AnalysisSettings;
  readonly paths: readonly string[];
  /** Those of `paths` in which no row can be a duplicate. */
  readonly unique?: ReadonlySet<string>;
  readonly span: LakeSpan;
  readonly signal?: AbortSignal | undefined;
  /** The fraction over all analyses, 0 to 1. */
  readonly onProgress?: (fraction: number, name: string) => void;
}

const progressEveryMs = 200;
const defaultMemoryShare = 0.4;

async function loadDuckdb() {
  try {
    return await import("@duckdb/node-api");
  } catch (thrown) {
    throw new GpulseError(
      "ANALYSIS_ENGINE",
      "DuckDB is not installed on this machine (its package @duckdb/node-api is optional): " +
        "run npm install @duckdb/node-api beside gpulse, or use --engine spark.",
      { cause: thrown },
    );
  }
}

export async function runOnDuckdb(
  run: AnalysisRun,
  options: DuckdbOptions,
): Promise<AnalysisResult[]> {
  const { DuckDBInstance } = await loadDuckdb();
  run.signal?.throwIfAborted();
  let instance: DuckDBInstance | undefined;
  try {
    instance = await DuckDBInstance.create(":memory:", {
      memory_limit: `${Math.floor((options.memoryBytes ?? totalmem() * defaultMemoryShare) / 2 ** 20)}MiB`,
      temp_directory: options.tempDir,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    });
    return await analyse(await instance.connect(), run);
  } catch (thrown) {
    run.signal?.throwIfAborted();
    throw explain(thrown);
  } finally {
    instance?.closeSync();
  }
}

async function analyse(connection: DuckDBConnection, run: AnalysisRun): Promise<AnalysisResult[]> {
  const interrupt = (): void => connection.interrupt();
  run.signal?.addEventListener("abort", interrupt);
  // Reading is a separate step if several analyses share it.
  const shared = run.analyses.length > 1;
  const steps = run.analyses.length + (shared ? 1 : 0);
  let [step, name] = [0, "reading"];
  const timer = setInterval(() => {
    const share = Math.max(0, connection.progress.percentage) / 100;
    run.onProgress?.(Math.min(1, (step + Math.min(1, share)) / steps), name);
  }, progressEveryMs);
  try {
    // A lake has timestamps without a zone from gpulse and zoned ones from Spark: if mixed, those without are read in the
    // session's zone.
    await connection.run(
      "set TimeZone = 'UTC'; set enable_progress_bar = true; set enable_progress_bar_print = false; set preserve_insertion_order = false",
    );
    const lake = await viewOf(connection, run);
    await connection.run(
      `create temp ${shared ? "table" : "view"} samples as ${samplesSql(run.analyses, run.settings, lake)}`,
    );
    const results: AnalysisResult[] = [];
    step = shared ? 1 : 0;
    for (const analysis of run.analyses) {
      run.signal?.throwIfAborted();
      name = analysis.name;
      run.onProgress?.(step / steps, name);
      const reader = await connection.runAndReadAll(analysisSql(analysis, run.settings, lake));
      results.push(resultOf(analysis, reader.columnNames(), reader.getRowsJS()));
      step++;
    }
    return results;
  } finally {
    clearInterval(timer);
    run.signal?.removeEventListener("abort", interrupt);
    connection.closeSync();
  }
}

async function viewOf(
  connection: DuckDBConnection,
  { paths, unique = new Set(), span }: AnalysisRun,
): Promise<LakeView> {
  const parts: LakePart[] = [];
  for (const isUnique of [false, true]) {
    const some = paths.filter((one) => unique.has(one) === isUnique);
    if (some.length === 0) continue;
    const from = `read_parquet([${some.map((one) => pathSql(one)).join(", ")}], union_by_name = true, hive_partitioning = false)`;
    const described = await connection.runAndReadAll(`describe select * from ${from}`);
    const names = new Set(described.getRowsJS().map(([name]) => name));
    parts.push({ from, has: (column) => names.has(column), isUnique });
  }
  return { dialect: duckdbDialect, parts, span };
}

/** Unlike our names, a path may contain a backslash, which DuckDB does not treat as an escape. */
const pathSql = (path: string): string =>
  path.includes("\\") ? `'${path.replaceAll("'", "''")}'` : textSql(path);

export function resultOf(
  { name, title, columns }: Analysis,
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
): AnalysisResult {
  const places = columns.map((column) => names.indexOf(column.name));
  return {
    name,
    title,
    columns,
    rows: rows.map((row) => places.map((place) => cellOf(row[place]))),
  };
}

function cellOf(value: unknown): ResultCell {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" ? value : null;
}

function explain(thrown: unknown): Error {
  if (thrown instanceof GpulseError) return thrown;
  const message = formatError(thrown);
  if (/out of memory/i.test(message))
    return new GpulseError(
      "ANALYSIS_TOO_LARGE",
      `DuckDB ran out of memory: allow more with --memory, or request fewer days with --since. (${firstLine(message)})`,
      { cause: thrown },
    );
  if (/^(IO|Invalid Input|Parquet)|No magic bytes|too small to be a Parquet/i.test(message))
    return new GpulseError(
      "ANALYSIS_FAILED",
      `A file of the lake cannot be read: ${firstLine(message).replace(/\.?$/, ".")} Remove or restore it and try again.`,
      { cause: thrown },
    );
  return new GpulseError("ANALYSIS_FAILED", `DuckDB failed: ${firstLine(message)}`, {
    cause: thrown,
  });
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";
