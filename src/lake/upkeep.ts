/**
 * Keeps a lake in shape: merges small files of a day into one, and forgets days that are too old. A merge never leaves a
 * moment in which a row cannot be read: note, merged file, removal of what it stands for, end of the note.
 */
import { formatError } from "../base/error.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { Log } from "../base/log.ts";
import { joinRanges, readOrigins } from "./coverage.ts";
import { openBytes, openFile } from "./decode.ts";
import { rowGroupRows } from "./encode.ts";
import { type LakeFile, listLake, notesFolder, readNotes } from "./files.ts";
import {
  dateOf,
  mergedName,
  type OffsetRange,
  parsePath,
  partitionFolder,
  plainName,
} from "./names.ts";
import { metadataKeys } from "./schema.ts";
import { type TableName, tableNames } from "./table.ts";
import type { LakeWorker } from "./job.ts";

export interface UpkeepOptions {
  readonly files: FileStore;
  readonly workers: LakeWorker;
  readonly version: string;
  readonly id: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Days older than this are removed; none where absent. */
  readonly retention?: LakeRetention;
  /** So many small files of today are worth a merge; of a day that is over, two are. */
  readonly minFiles?: number;
  /** Files that may be merged; all where absent, which takes a lake that no other process merges. */
  readonly only?: (path: string) => boolean;
  readonly onWritten?: (path: string) => void;
  /** Rows of a merged file. */
  readonly targetRows?: number;
}

export interface LakeRetention {
  readonly ms: number;
  /** Follows no jump of the wall clock. */
  readonly trustedNowMs: () => number | Promise<number>;
}

export interface UpkeepResult {
  readonly merged: number;
  readonly into: number;
  readonly removedDays: number;
}

/** Read at once into memory, decoded and sorted: the bound of a merge. */
const maxMergeBytes = 32 * 2 ** 20;

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #rowCounts = new Map<string, number>();
  #sequence = 0;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Ends what a killed process began, merges, forgets. One process at a time does this for a lake. */
  async run(signal: AbortSignal): Promise<UpkeepResult> {
    if (this.#options.only === undefined) await this.finish(signal);
    const done = { merged: 0, into: 0, removedDays: await this.#forget(signal) };
    for (const table of tableNames)
      for (const group of await this.#groups(table, signal)) {
        if (signal.aborted) return done;
        if (!(await this.#merge(table, group, signal))) continue;
        done.merged += group.length;
        done.into++;
      }
    return done;
  }

  /** A merge that was cut short: its file is there, then what it stands for goes; or it is not, then nothing happened. */
  async finish(signal?: AbortSignal): Promise<void> {
    const { files } = this.#options;
    for (const { path, into, replaces } of await readNotes(files, signal)) {
      const there = (await files.list(into, signal)).some((file) => file.path === into);
      if (there) for (const old of replaces) await files.remove(old, signal);
      await files.remove(path, signal);
    }
  }

  /** Small files of one day, in lots that fit into one file. */
  async #groups(table: TableName, signal: AbortSignal): Promise<readonly (readonly LakeFile[])[]> {
    const { files, nowMs, minFiles = 16, targetRows = rowGroupRows } = this.#options;
    const today = dateOf(nowMs());
    const days = new Map<string, LakeFile[]>();
    for (const file of await listLake(files, table, {}, signal))
      if (this.#options.only?.(file.path) !== false)
        days.set(file.date, [...(days.get(file.date) ?? []), file]);
    const groups: LakeFile[][] = [];
    for (const [date, all] of days) {
      const enough = date < today ? 2 : minFiles;
      if (all.length < enough) continue;
      const small: { readonly file: LakeFile; readonly rows: number }[] = [];
      for (const file of all) {
        const rows = await this.#rowCount(file, signal);
        if (rows !== undefined && rows < targetRows / 2) small.push({ file, rows });
      }
      if (small.length < enough) continue;
      let group: LakeFile[] = [];
      let [bytes, rowCount] = [0, 0];
      for (const { file, rows } of small) {
        if (bytes + file.bytes > maxMergeBytes || rowCount + rows > targetRows) {
          groups.push(group);
          group = [];
          [bytes, rowCount] = [0, 0];
        }
        group.push(file);
        bytes += file.bytes;
        rowCount += rows;
      }
      groups.push(group);
    }
    return groups.filter((group) => group.length > 1);
  }

  /** From the footer, once a file; undefined where it cannot be read: it is left as it is. */
  async #rowCount({ path, bytes }: LakeFile, signal: AbortSignal): Promise<number | undefined> {
    const known = this.#rowCounts.get(path);
    if (known !== undefined) return known;
    try {
      const { rowCount } = await openFile(this.#options.files, path, bytes, signal);
      this.#rowCounts.set(path, rowCount);
      return rowCount;
    } catch (thrown) {
      this.#options.log.warn("a file of the lake cannot be read", {
        file: path,
        error: formatError(thrown),
      });
      return undefined;
    }
  }

  async #merge(
    table: TableName,
    group: readonly LakeFile[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { files, workers, version, log } = this.#options;
    const [first] = group;
    if (first === undefined) return false;
    try {
      const contents: Uint8Array[] = [];
      const ranges: OffsetRange[] = [];
      for (const file of group) {
        const bytes = await files.read(file.path, undefined, signal);
        const opened = await openBytes(bytes, file.path);
        ranges.push(
          ...readOrigins(opened.metadata),
          ...(file.range === undefined ? [] : [file.range]),
        );
        contents.push(bytes);
      }
      const merged = await workers.run({
        kind: "merge",
        files: contents,
        version,
        metadata:
          ranges.length === 0 ? {} : { [metadataKeys.origins]: JSON.stringify(joinRanges(ranges)) },
      });
      const id = `${this.#options.id}-${this.#sequence++}`;
      const into = partitionFolder(table, first.date) + mergedName(this.#options.nowMs(), id);
      const note = `${notesFolder}${plainName(id, this.#options.nowMs(), 0).replace(/parquet$/, "json")}`;
      const replaces = group.map(({ path }) => path);
      await files.write(note, Buffer.from(JSON.stringify({ into, replaces })), signal);
      await files.write(into, merged.bytes, signal);
      this.#rowCounts.set(into, merged.rowCount);
      this.#options.onWritten?.(into);
      for (const old of replaces) {
        await files.remove(old, signal);
        this.#rowCounts.delete(old);
      }
      await files.remove(note, signal);
      return true;
    } catch (thrown) {
      // Whatever was done so far is as good as before, or is ended by the next run.
      log.warn("files of the lake could not be merged", {
        day: first.date,
        error: formatError(thrown),
      });
      return false;
    }
  }

  /** Whole days: a file is of one day. */
  async #forget(signal: AbortSignal): Promise<number> {
    const { files, retention, log } = this.#options;
    if (retention === undefined) return 0;
    const oldest = dateOf((await retention.trustedNowMs()) - retention.ms);
    const days = new Set<string>();
    let [fileCount, byteCount] = [0, 0];
    for (const table of tableNames)
      for (const { path, bytes } of await files.list(`${table}/date=`, signal)) {
        const date = parsePath(path)?.date;
        if (date === undefined || date >= oldest) continue;
        await files.remove(path, signal);
        days.add(date);
        fileCount++;
        byteCount += bytes;
      }
    if (days.size > 0)
      log.info("days of the lake past retention are removed", {
        place: files.name,
        days: [...days].sort().join(", "),
        files: fileCount,
        bytes: byteCount,
      });
    return days.size;
  }
}
