/** Which offsets of a log a table already has for a day, by the names of its files and the footers of merged ones. */
import * as v from "valibot";
import { formatError } from "../base/error.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { Log } from "../base/log.ts";
import type { Origin } from "../model/origin.ts";
import { openFile } from "./decode.ts";
import { type OffsetRange, parsePath, partitionFolder } from "./names.ts";
import { metadataKeys } from "./schema.ts";
import type { TableName } from "./table.ts";

const originsSchema = v.array(
  v.object({ log: v.string(), partition: v.number(), first: v.number(), last: v.number() }),
);

export class Coverage {
  readonly #files: FileStore;
  readonly #log: Log;
  readonly #ranges = new Map<string, OffsetRange[]>();

  constructor(files: FileStore, log: Log) {
    this.#files = files;
    this.#log = log;
  }

  /** Looks again: another process may have written meanwhile. */
  async load(table: TableName, date: string, signal?: AbortSignal): Promise<void> {
    const ranges: OffsetRange[] = [];
    for (const { path, bytes } of await this.#files.list(partitionFolder(table, date), signal)) {
      const name = parsePath(path);
      if (name?.range !== undefined) ranges.push(name.range);
      else if (name?.merged === true) ranges.push(...(await this.#merged(path, bytes, signal)));
    }
    this.#ranges.set(`${table}/${date}`, ranges);
  }

  /** Offsets about to be written need not be written again. */
  add(table: TableName, date: string, range: OffsetRange): void {
    const key = `${table}/${date}`;
    const known = this.#ranges.get(key);
    if (known === undefined) this.#ranges.set(key, [range]);
    else known.push(range);
  }

  has(table: TableName, date: string, { log, partition, offset }: Origin): boolean {
    return (this.#ranges.get(`${table}/${date}`) ?? []).some(
      (range) =>
        range.log === log &&
        range.partition === partition &&
        offset >= range.first &&
        offset <= range.last,
    );
  }

  async #merged(
    path: string,
    bytes: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly OffsetRange[]> {
    try {
      const { metadata } = await openFile(this.#files, path, bytes, signal);
      return readOrigins(metadata);
    } catch (thrown) {
      // Duplicate rows rather than missing ones: readers deduplicate.
      this.#log.warn("offsets of a merged lake file are unreadable", {
        file: path,
        error: formatError(thrown),
      });
      return [];
    }
  }
}

/** The offsets a merged file holds, as its footer lists them; none for files that are not out of a log. */
export const readOrigins = (metadata: Readonly<Record<string, string>>): OffsetRange[] =>
  v.parse(originsSchema, JSON.parse(metadata[metadataKeys.origins] ?? "[]"));

/** Ranges that touch or overlap as one. */
export function joinRanges(ranges: readonly OffsetRange[]): OffsetRange[] {
  const sorted = [...ranges].sort(
    (a, b) =>
      (a.log < b.log ? -1 : a.log > b.log ? 1 : 0) ||
      a.partition - b.partition ||
      a.first - b.first,
  );
  const joined: OffsetRange[] = [];
  for (const range of sorted) {
    const before = joined.at(-1);
    if (
      before?.log === range.log &&
      before.partition === range.partition &&
      range.first <= before.last + 1
    )
      joined[joined.length - 1] = { ...before, last: Math.max(before.last, range.last) };
    else joined.push(range);
  }
  return joined;
}
