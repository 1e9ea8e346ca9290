/**
 * Names of the lake's files. `TABLE/date=YYYY-MM-DD/NAME.parquet`, where NAME is `ID-STARTMS-SEQUENCE`, or, for rows out of
 * a log that can be read again, `TOPIC.pPARTITION.oFIRST-LAST`: then the name alone shows which offsets the file has.
 */
import type { TableName } from "./table.ts";

/** Offsets of one partition of a log, both ends included. */
export interface OffsetRange {
  readonly log: string;
  readonly partition: number;
  readonly first: number;
  readonly last: number;
}

export interface LakeFileName {
  readonly table: TableName;
  readonly date: string;
  readonly name: string;
  readonly range?: OffsetRange;
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

export const partitionFolder = (table: TableName, date: string): string => `${table}/date=${date}/`;

/** Only what every file system and URL takes. */
export const safeName = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80);

export const plainName = (id: string, startMs: number, sequence: number): string =>
  `${safeName(id)}-${Math.round(startMs)}-${sequence}.parquet`;

export const mergedName = (startMs: number, id: string): string =>
  `merged-${Math.round(startMs)}-${id}.parquet`;

/** A topic's name may hold dots, as file names may; nothing else that it may hold needs to be written otherwise. */
export const rangeName = ({ log, partition, first, last }: OffsetRange): string =>
  `${encodeURIComponent(log)}.p${partition}.o${first}-${last}.parquet`;

const pathPattern = /^(gpu|series)\/date=(\d{4}-\d{2}-\d{2})\/([^/]+\.parquet)$/;
const rangePattern = /^(.+)\.p(\d+)\.o(\d+)-(\d+)\.parquet$/;

/** Undefined for files that belong to no table: readers skip them. */
export function parsePath(path: string): LakeFileName | undefined {
  const [, table, date, name] = pathPattern.exec(path) ?? [];
  if (table === undefined || date === undefined || name === undefined) return undefined;
  // What begins so is hidden to Spark and to DuckDB's globs alike.
  if (name.startsWith("_") || name.startsWith(".")) return undefined;
  const found = rangePattern.exec(name);
  const merged = name.startsWith("merged-");
  if (found === null) return { table: table as TableName, date, name, merged };
  const [, log = "", partition, first, last] = found;
  const range = {
    log: decodeURIComponent(log),
    partition: Number(partition),
    first: Number(first),
    last: Number(last),
  };
  return { table: table as TableName, date, name, merged, range };
}
