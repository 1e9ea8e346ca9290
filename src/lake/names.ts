/**
 * Names of the lake's files. `TABLE/date=YYYY-MM-DD/NAME.parquet`, or `TABLE/data/date=…` in an Iceberg table, where NAME is `ID-STARTMS-SEQUENCE`, or, for rows out of
 * a log that can be read again, `TOPIC.tID.pPARTITION.oFIRST`. Two processes with the same rows want the same name, so that only
 * one of them can create the file; the footer has the last offset. Older files are named `TOPIC.pPARTITION.oFIRST-LAST`.
 */
import type { LakeFormat } from "./commit.ts";
import type { TableName } from "./table.ts";

/** Offsets of one partition of a log, both ends included. */
export interface OffsetRange {
  readonly log: string;
  /** Absent in files of before 0.3, which then stand for any. */
  readonly logId?: string | undefined;
  readonly partition: number;
  readonly first: number;
  readonly last: number;
}

/** Of the first row in a file; the last offset is in its footer, or in its name where it is older. */
export type FileOrigin = Omit<OffsetRange, "last"> & { readonly last?: number };

export interface LakeFileName {
  readonly table: TableName;
  readonly date: string;
  readonly name: string;
  readonly origin?: FileOrigin;
  /** Made of others, which it stands for. */
  readonly merged: boolean;
}

const dayMs = 86_400_000;

/** Rows mostly come a day at a time, and writing a date takes longer than all else that is done to find a row's place. */
let lastDate = { day: 0, text: "1970-01-01" };

/** The day in UTC: late rows go to their own day, never to today. */
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

/** Only what every file system and URL takes. */
export const safeName = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80);

export const plainName = (id: string, startMs: number, sequence: number): string =>
  `${safeName(id)}-${Math.round(startMs)}-${sequence}.parquet`;

export const mergedName = (startMs: number, id: string): string =>
  `merged-${Math.round(startMs)}-${id}.parquet`;

/** A topic's name may hold dots, as file names may; nothing else that it may hold needs to be written otherwise. */
export const originName = ({ log, logId, partition, first }: FileOrigin): string =>
  `${encodeURIComponent(log)}${logId === undefined ? "" : `.t${logId}`}.p${partition}.o${first}.parquet`;

const pathPattern = /^(gpu|series|jobs)\/(?:data\/)?date=(\d{4}-\d{2}-\d{2})\/([^/]+\.parquet)$/;
const originPattern = /^(.+?)(?:\.t([0-9a-f]{1,32}))?\.p(\d+)\.o(\d+)(?:-(\d+))?\.parquet$/;

/** Undefined for files that belong to no table: readers skip them. */
export function parsePath(path: string): LakeFileName | undefined {
  const [, table, date, name] = pathPattern.exec(path) ?? [];
  if (table === undefined || date === undefined || name === undefined) return undefined;
  // What begins so is hidden to Spark and to DuckDB's globs alike.
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
