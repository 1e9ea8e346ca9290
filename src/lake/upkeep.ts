/**
 * Maintains a lake: merges small files of a day into one, and removes days past retention. Both are commits of the manifest, so
 * several processes may do it at once. No row is ever in a table twice: a glob misses rows while the replaced files are being
 * removed. After a kill any process of the lake finishes the work.
 */
import { randomUUID } from "node:crypto";
import { formatError } from "../base/error.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { Log } from "../base/log.ts";
import { type CommittedFile, stagedPath } from "./commit.ts";
import { rowGroupRows } from "./encode.ts";
import { LakeManifest } from "./manifest.ts";
import { dateOf, mergedName, parsePath, partitionFolder } from "./names.ts";
import { endMerge, readNotes } from "./notes.ts";
import { joinRanges } from "./ranges.ts";
import { metadataKeys } from "./schema.ts";
import { committedTables, type TableName, tableNames } from "./table.ts";
import type { LakeWorker } from "./job.ts";

export interface UpkeepOptions {
  readonly files: FileStore;
  readonly workers: LakeWorker;
  readonly version: string;
  readonly id: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Days older than this are removed; none if absent. */
  readonly retention?: LakeRetention;
  /** The number of small files of today that are merged; of a past day, two are enough. */
  readonly minFiles?: number;
  /** Files that may be merged; all if absent. */
  readonly only?: (path: string) => boolean;
  readonly onWritten?: (path: string) => void;
  /** Rows of a merged file. */
  readonly targetRows?: number;
  /** Shared with other parts of this process; its own if absent. */
  readonly manifest?: LakeManifest;
}

export interface LakeRetention {
  readonly ms: number;
  /** A clock that ignores jumps of the wall clock. */
  readonly trustedNowMs: () => number | Promise<number>;
}

export interface UpkeepResult {
  readonly merged: number;
  readonly into: number;
  readonly removedDays: number;
}

/** Limit of a merge, which reads its files into memory at once, decoded and sorted. */
const maxMergeBytes = 32 * 2 ** 20;

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #manifest: LakeManifest;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#manifest = options.manifest ?? new LakeManifest(options);
  }

  /** Finishes interrupted work, merges, and applies retention. */
  async run(signal: AbortSignal): Promise<UpkeepResult> {
    await this.finish(signal);
    const done = { merged: 0, into: 0, removedDays: await this.#forget(signal) };
    for (const table of committedTables)
      for (const group of this.#groups(table)) {
        if (signal.aborted) return done;
        if (!(await this.#merge(table, group, signal))) continue;
        done.merged += group.length;
        done.into++;
      }
    return done;
  }

  /** Finishes interrupted commits. */
  async finish(signal?: AbortSignal): Promise<void> {
    const { files } = this.#options;
    for (const note of await readNotes(files, signal)) await endMerge(files, note, signal);
    await this.#manifest.adopt(signal);
    await this.#manifest.finish(signal);
  }

  /** Small files of one day, in groups that fit into one file. */
  #groups(table: TableName): readonly (readonly CommittedFile[])[] {
    const { nowMs, minFiles = 16, targetRows = rowGroupRows, only } = this.#options;
    const today = dateOf(nowMs());
    const days = new Map<string, CommittedFile[]>();
    for (const file of this.#manifest.files.values()) {
      const name = parsePath(file.path);
      if (name?.table !== table || only?.(file.path) === false) continue;
      if (file.rows < targetRows / 2) days.set(name.date, [...(days.get(name.date) ?? []), file]);
    }
    const groups: CommittedFile[][] = [];
    for (const [date, small] of days) {
      if (small.length < (date < today ? 2 : minFiles)) continue;
      let group: CommittedFile[] = [];
      let [bytes, rowCount] = [0, 0];
      for (const file of small.sort((a, b) => (a.path < b.path ? -1 : 1))) {
        if (bytes + file.bytes > maxMergeBytes || rowCount + file.rows > targetRows) {
          groups.push(group);
          group = [];
          [bytes, rowCount] = [0, 0];
        }
        group.push(file);
        bytes += file.bytes;
        rowCount += file.rows;
      }
      groups.push(group);
    }
    return groups.filter((group) => group.length > 1);
  }

  async #merge(
    table: TableName,
    group: readonly CommittedFile[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { files, workers, version, log, nowMs } = this.#options;
    const [first] = group;
    const date = parsePath(first?.path ?? "")?.date;
    if (date === undefined) return false;
    try {
      const contents: Uint8Array[] = [];
      for (const { path } of group) contents.push(await files.read(path, undefined, signal));
      const origins = joinRanges(group.flatMap((file) => file.origins ?? []));
      const merged = await workers.run({
        kind: "merge",
        files: contents,
        version,
        format: this.#manifest.format,
        metadata: origins.length === 0 ? {} : { [metadataKeys.origins]: JSON.stringify(origins) },
      });
      const id = randomUUID();
      const added: CommittedFile = {
        path: partitionFolder(table, date, this.#manifest.format) + mergedName(nowMs(), id),
        staged: stagedPath(id, 0),
        rows: merged.rowCount,
        bytes: merged.bytes.length,
        firstMs: group.reduce(
          (least, one) => Math.min(least, one.firstMs),
          Number.POSITIVE_INFINITY,
        ),
        lastMs: group.reduce((most, one) => Math.max(most, one.lastMs), 0),
        ...(origins.length > 0 && { origins }),
      };
      await files.write(stagedPath(id, 0), merged.bytes, signal);
      const removed = group.map(({ path }) => path);
      const isCurrent = (): boolean => removed.every((path) => this.#manifest.files.has(path));
      const commit = await this.#manifest.commit(
        id,
        async () => (isCurrent() ? { operation: "merge", added: [added], removed } : undefined),
        signal,
      );
      if (commit !== undefined) this.#options.onWritten?.(added.path);
      // Another process merged or removed one of them first.
      else await files.remove(stagedPath(id, 0), signal);
      return commit !== undefined;
    } catch (thrown) {
      // The next run finishes it or starts again.
      log.warn("files of the lake could not be merged", { day: date, error: formatError(thrown) });
      return false;
    }
  }

  /** Removes whole days: a file belongs to one day. */
  async #forget(signal: AbortSignal): Promise<number> {
    const { files, retention, log } = this.#options;
    if (retention === undefined) return 0;
    const oldest = dateOf((await retention.trustedNowMs()) - retention.ms);
    const isOld = (path: string): boolean => (parsePath(path)?.date ?? oldest) < oldest;
    const old = new Map<string, number>();
    for (const table of tableNames)
      for (const { path, bytes } of await files.list(`${table}/date=`, signal))
        if (isOld(path)) old.set(path, bytes);
    for (const { path, bytes } of this.#manifest.files.values())
      if (isOld(path)) old.set(path, bytes);
    await this.#manifest.commit(
      randomUUID(),
      async () => {
        const removed = [...this.#manifest.files.keys()].filter(isOld);
        return removed.length === 0 ? undefined : { operation: "expire", added: [], removed };
      },
      signal,
    );
    // Files of no commit: the table of jobs, and files from other programs.
    for (const path of old.keys())
      if (!this.#manifest.retired.has(path)) await files.remove(path, signal);
    const days = new Set([...old.keys()].map((path) => parsePath(path)?.date ?? ""));
    if (days.size > 0)
      log.info("days of the lake past retention are removed", {
        place: files.name,
        days: [...days].sort().join(", "),
        files: old.size,
        bytes: [...old.values()].reduce((sum, one) => sum + one, 0),
      });
    return days.size;
  }
}
