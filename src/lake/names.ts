/**
 * Names of the lake's files. `TABLE/date=YYYY-MM-DD/NAME.parquet`, or `TABLE/data/date=…` in an Iceberg table, where NAME is
 * `ID-STARTMS-SEQUENCE`, or, for rows from a replayable log, `TOPIC.tID.pPARTITION.oFIRST`. Two processes with the same rows
 * choose the same name, so that only one of them can create the file; the footer has the last offset. Older files are named
 * `TOPIC.pPARTITION.oFIRST-LAST`.
 */
import type { LakeFormat } from "./commit.ts";
import type { TableName } from "./table.ts";

/** Offsets of one partition of a log, both ends included. */
export interface OffsetRange {
  readonly log: string;
  /** Absent in files from before 0.3, which match any id. */
  readonly logId?: string | undefined;
  readonly partition: number;
  readonly first: number;
  readonly last: number;
}

/** The origin of a file's first row; the last offset is in the footer, or in the name of an older file. */
export type FileOrigin = Omit<OffsetRange, "last"> & { readonly last?: number };

export interface LakeFileName {
  readonly table: TableName;
  readonly date: string;
  readonly name: string;
  readonly origin?: FileOrigin;
  /** True if it was merged from other files, which it replaces. */
  readonly merged: boolean;
}

const dayMs = 86_400_000;

/** A cache: rows mostly come a day at a time, and formatting a date takes longer than the rest of finding a row's place. */
let lastDate = { day: 0, text: "1970-01-01" };

/** The day in UTC: out-of-order rows go to their own day, never to today. */
export function dateOf(timeMs: number): string {
  const day = Math.floor(timeMs / dayMs);
  if (day !== lastDate.day)
    lastDate = { day, text: new Date(day * dayMs).toISOString().slice(0, 10) };
  return lastDate.text;
}

/** An Iceberg table has its files in `data`, beside its `metadata`. */
export const partitionFolder = (
  table: TableName,
  date: string,
  format: LakeFormat = "parquet",
): string => `${table}/${format === "iceberg" ? "data/" : ""}date=${date}/`;

/** Only characters that every file system and URL allows. */
export const safeName = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80);

export const plainName = (id: string, startMs: number, sequence: number): string =>
  `${safeName(id)}-${Math.round(startMs)}-${sequence}.parquet`;

export const mergedName = (startMs: number, id: string): string =>
  `merged-${Math.round(startMs)}-${id}.parquet`;

/** A topic's name may contain dots, as may file names; none of its other characters needs escaping. */
export const originName = ({ log, logId, partition, first }: FileOrigin): string =>
  `${encodeURIComponent(log)}${logId === undefined ? "" : `.t${logId}`}.p${partition}.o${first}.parquet`;

const pathPattern = /^(gpu|series|jobs)\/(?:data\/)?date=(\d{4}-\d{2}-\d{2})\/([^/]+\.parquet)$/;
const originPattern = /^(.+?)(?:\.t([0-9a-f]{1,32}))?\.p(\d+)\.o(\d+)(?:-(\d+))?\.parquet$/;

/** Undefined for files that belong to no table: readers skip them. */
export function parsePath(path: string): LakeFileName | undefined {
  const [, table, date, name] = pathPattern.exec(path) ?? [];
  if (table === undefined || date === undefined || name === undefined) return undefined;
  // Spark and DuckDB's globs ignore files with these prefixes.
  if (name.startsWith("_") || name.startsWith(".")) return undefined;
  const found = originPattern.exec(name);
  const merged = name.startsWith("merged-");
  if (found === null) return { table: table as TableName, date, name, merged };
  const [, log = "", logId, partition, first, last] = found;
  const origin = {
    log: decodeURIComponent(log),
    ...(logId !== undefined && { logId }),
    partition: Number(partition),
    first: Number(first),
    ...(last !== undefined && { last: Number(last) }),
  };
  return { table: table as TableName, date, name, merged, origin };
}
