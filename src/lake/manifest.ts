/**
 * The commits of a lake. `commit` decides which of several processes goes first, `finish` completes commits that a killed process
 * left half published. A Parquet file is never visible in a table before its commit, nor after the commit that replaces it has
 * been published.
 */
import { randomUUID } from "node:crypto";
import { formatError, GpulseError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { type FileInfo, type FileStore, FileStoreError } from "../net/objects/store.ts";
import { adoptFiles } from "./adopt.ts";
import {
  checkpointPath,
  type CommittedFile,
  commitPath,
  commitsFolder,
  type LakeCheckpoint,
  type LakeCommit,
  type LakeFormat,
  markerPath,
  namesPending,
  parseCheckpoint,
  parseCommit,
  parseManifestPath,
  pendingFolder,
  pendingId,
} from "./commit.ts";
import { publishIceberg } from "./iceberg/publish.ts";
import { committedTables } from "./table.ts";

export interface ManifestOptions {
  readonly files: FileStore;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Minimum number of commits for `gpulse lake history`; older ones are removed. */
  readonly retainedCommits?: number;
  /** The maximum number of commits that a new process reads, approximately. */
  readonly checkpointEvery?: number;
  /** The format of a new lake; an existing lake keeps its format. */
  readonly format?: LakeFormat;
  /** How long an earlier snapshot of an Iceberg table stays readable. */
  readonly snapshotsMs?: number;
  /** The URL under which readers find a new Iceberg lake, if it differs from ours. */
  readonly location?: string;
}

export type LakeChange = Pick<LakeCommit, "operation" | "added" | "removed">;

/** A process that was suspended between refresh and commit must not find the sequence number unused. */
const retainedMs = 3_600_000;
/** A file that waits this long for a commit belongs to a killed process; writers stage again after half of it. */
export const abandonedMs = 86_400_000;
const parallelReads = 16;
const defaultSnapshotsMs = 86_400_000;

export class LakeManifest {
  readonly #options: ManifestOptions;
  #sequence = 0;
  #checkpoint = 0;
  #files = new Map<string, CommittedFile>();
  #format: LakeFormat | undefined;
  #retired = new Map<string, number>();
  /** Commits since the checkpoint that this process started from. */
  readonly #commits = new Map<string, LakeCommit>();

  constructor(options: ManifestOptions) {
    this.#options = options;
  }

  /** The sequence number of the newest commit at the last refresh; 0 if there is none. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The lake's files by path, at the last refresh. */
  get files(): ReadonlyMap<string, CommittedFile> {
    return this.#files;
  }

  get format(): LakeFormat {
    return this.#format ?? this.#options.format ?? "parquet";
  }

  /** Replaced files of an Iceberg table that its earlier snapshots need, and when they were replaced. */
  get retired(): ReadonlyMap<string, number> {
    return this.#retired;
  }

  commitWith(id: string): LakeCommit | undefined {
    return this.#commits.get(id);
  }

  /** Reads the commits of other processes. */
  async refresh(signal?: AbortSignal): Promise<void> {
    for (let attempt = 0; ; attempt++)
      try {
        return await this.#refresh(signal);
      } catch (thrown) {
        // Another process removed old commits between listing and reading.
        const isGone = thrown instanceof FileStoreError && thrown.code === "FILES_MISSING";
        if (!isGone || attempt >= 3) throw thrown;
      }
  }

  /**
   * Commits the change that `prepare` returns for the newest state, and publishes it; undefined if there is no change. `prepare`
   * is called again each time another process commits first. After a failure with unknown outcome, call it again with the same
   * id.
   */
  async commit(
    id: string,
    prepare: () => Promise<LakeChange | undefined>,
    signal?: AbortSignal,
  ): Promise<LakeCommit | undefined> {
    const { files, nowMs, checkpointEvery = 64 } = this.#options;
    for (;;) {
      await this.refresh(signal);
      const done = this.#commits.get(id);
      if (done !== undefined) {
        await this.#publish(done, signal);
        return done;
      }
      if (this.#sequence === 0) await this.adopt(signal);
      if (this.#options.format === "iceberg" && this.format !== "iceberg") throw this.#notIceberg();
      // The number that follows the state given to `prepare`: another part of this process may refresh meanwhile.
      const sequence = this.#sequence + 1;
      const change = await prepare();
      if (change === undefined) return undefined;
      const commit: LakeCommit = {
        version: 1,
        sequence,
        id,
        timeMs: nowMs(),
        ...change,
        ...(this.format === "iceberg" && { format: "iceberg" }),
      };
      if (change.added.length === 0) await files.write(markerPath(id), new Uint8Array(), signal);
      if (!(await files.create(commitPath(sequence), encode(commit), signal))) continue;
      this.#apply(commit);
      await this.#publish(commit, signal);
      if (sequence - this.#checkpoint >= checkpointEvery) await this.#tidy(signal);
      return commit;
    }
  }

  /** Makes the first commit of a lake that has files but no manifest. */
  async adopt(signal?: AbortSignal): Promise<void> {
    const { files, log, nowMs } = this.#options;
    await this.refresh(signal);
    if (this.#sequence > 0) return;
    const added = await adoptFiles(files, log, signal);
    if (added.length === 0) return;
    if (this.#options.format === "iceberg") throw this.#notIceberg();
    const commit: LakeCommit = {
      version: 1,
      sequence: 1,
      id: randomUUID(),
      timeMs: nowMs(),
      operation: "adopt",
      added: [...added],
      removed: [],
    };
    if (await files.create(commitPath(1), encode(commit), signal)) this.#apply(commit);
    else await this.refresh(signal);
  }

  /** Publishes interrupted commits, and those that another process is publishing now: both perform the same steps. */
  async finish(signal?: AbortSignal): Promise<void> {
    const { files, nowMs } = this.#options;
    // Refresh first: then all pending files of the known commits are in the listing.
    await this.refresh(signal);
    const pending = await this.#finishKnown(signal);
    if (this.format === "iceberg") await this.#publishTables(signal);
    for (const { path, modifiedMs } of pending)
      if (!this.#commits.has(pendingId(path)) && modifiedMs < nowMs() - abandonedMs)
        await files.remove(path, signal);
  }

  /** Moves the files of all known commits. Returns the previously pending files. */
  async #finishKnown(signal: AbortSignal | undefined): Promise<readonly FileInfo[]> {
    const pending = await this.#options.files.list(pendingFolder, signal);
    const ids = new Set(pending.map(({ path }) => pendingId(path)));
    const cut = [...this.#commits.values()].filter(({ id }) => ids.has(id));
    for (const commit of cut.sort((a, b) => a.sequence - b.sequence))
      await this.#moveFiles(commit, signal);
    // Staged before another process committed their rows.
    for (const { path } of pending) {
      const commit = this.#commits.get(pendingId(path));
      if (commit !== undefined && !namesPending(commit, path))
        await this.#options.files.remove(path, signal);
    }
    return pending;
  }

  async #publish(commit: LakeCommit, signal?: AbortSignal): Promise<void> {
    await this.#moveFiles(commit, signal);
    if (this.format !== "iceberg") return;
    // The table refers to the files of all commits so far, so they must be in place.
    await this.#finishKnown(signal);
    await this.#publishTables(signal);
  }

  async #publishTables(signal: AbortSignal | undefined, isForced = false): Promise<void> {
    const { files, nowMs, snapshotsMs = defaultSnapshotsMs, location } = this.#options;
    for (const table of committedTables)
      await publishIceberg(
        files,
        table,
        {
          sequence: this.#sequence,
          timeMs: nowMs(),
          files: [...this.#files.values()].filter(({ path }) => path.startsWith(`${table}/`)),
          commits: this.#commits.values(),
          expireBeforeMs: nowMs() - snapshotsMs,
          location: location ?? locationOf(files.name),
          isForced,
        },
        signal,
      );
  }

  /**
   * In a lake of plain Parquet, replaced files are removed before the new one appears: a glob may miss rows for a moment, but
   * never has rows twice.
   */
  async #moveFiles({ id, added, removed }: LakeCommit, signal?: AbortSignal): Promise<void> {
    const { files } = this.#options;
    // Earlier snapshots of an Iceberg table still need the removed files.
    if (this.format !== "iceberg") for (const path of removed) await files.remove(path, signal);
    for (const { staged, path } of added)
      if (staged !== undefined) await files.move(staged, path, signal);
    if (added.length === 0) await files.remove(markerPath(id), signal);
  }

  async #refresh(signal: AbortSignal | undefined): Promise<void> {
    const { files } = this.#options;
    const listed = (await files.list(commitsFolder, signal)).flatMap(({ path }) => {
      const found = parseManifestPath(path);
      return found === undefined ? [] : [found];
    });
    const of = (kind: string): Set<number> =>
      new Set(listed.filter((one) => one.kind === kind).map(({ sequence }) => sequence));
    const commits = of("commit");
    const newest = listed.reduce((most, { sequence }) => Math.max(most, sequence), 0);
    const checkpoint = [...of("checkpoint")].reduce((most, one) => Math.max(most, one), 0);
    if (newest > this.#sequence && checkpoint > this.#sequence) {
      const isWhole = this.#sequence > 0 && commits.has(this.#sequence + 1);
      if (!isWhole) await this.#load(checkpoint, signal);
    }
    this.#checkpoint = Math.max(this.#checkpoint, checkpoint);
    while (this.#sequence < newest) {
      const from = this.#sequence + 1;
      const places = Array.from(
        { length: Math.min(parallelReads, newest - this.#sequence) },
        (_, at) => from + at,
      );
      const missing = places.find((sequence) => !commits.has(sequence));
      if (missing !== undefined)
        throw new GpulseError(
          "LAKE_MANIFEST",
          `${files.name} has no ${commitPath(missing)}, but later commits: restore it from a backup, or remove _commits so that the next writer lists the lake's files again.`,
        );
      const read = places.map(async (sequence) => {
        const path = commitPath(sequence);
        return parseCommit(await files.read(path, undefined, signal), path);
      });
      for (const commit of await Promise.all(read)) this.#apply(commit);
    }
  }

  async #load(sequence: number, signal: AbortSignal | undefined): Promise<void> {
    const path = checkpointPath(sequence);
    const bytes = await this.#options.files.read(path, undefined, signal);
    const { files, format = "parquet", retired = [] } = parseCheckpoint(bytes, path);
    if (sequence <= this.#sequence) return;
    this.#files = new Map(files.map((file) => [file.path, file]));
    this.#format = format;
    this.#retired = new Map(retired.map((one) => [one.path, one.timeMs]));
    this.#sequence = sequence;
  }

  #apply(commit: LakeCommit): void {
    const { sequence, format = "parquet", timeMs } = commit;
    // Two parts of this process have read the commit at once.
    if (sequence <= this.#sequence) return;
    this.#format = format;
    for (const path of commit.removed) {
      this.#files.delete(path);
      if (format === "iceberg") this.#retired.set(path, timeMs);
    }
    for (const { staged: _, ...file } of commit.added)
      this.#files.set(file.path, { ...file, sequence });
    this.#commits.set(commit.id, commit);
    this.#sequence = commit.sequence;
  }

  /** There is no unfinished commit before a checkpoint, so a process that starts from it can finish all of them. */
  async #tidy(signal: AbortSignal | undefined): Promise<void> {
    const { files, log, nowMs, retainedCommits = 1_000 } = this.#options;
    try {
      await this.finish(signal);
      await this.#removeRetired(signal);
      const sequence = this.#sequence;
      const checkpoint: LakeCheckpoint = {
        version: 1,
        sequence,
        files: [...this.#files.values()],
        ...(this.format === "iceberg" && { format: "iceberg" }),
        ...(this.#retired.size > 0 && {
          retired: [...this.#retired].map(([path, timeMs]) => ({ path, timeMs })),
        }),
      };
      await files.write(checkpointPath(sequence), encode(checkpoint), signal);
      this.#checkpoint = sequence;
      const isOld = ({ path, modifiedMs }: FileInfo): boolean => {
        const found = parseManifestPath(path);
        if (found === undefined || modifiedMs > nowMs() - retainedMs) return false;
        return found.sequence < (found.kind === "commit" ? sequence - retainedCommits : sequence);
      };
      for (const file of await files.list(commitsFolder, signal))
        if (isOld(file)) await files.remove(file.path, signal);
      for (const [id, one] of this.#commits)
        if (one.sequence < sequence - retainedCommits) this.#commits.delete(id);
    } catch (thrown) {
      // The commit itself succeeded; the next one tries again.
      log.warn("the lake's manifest has no new checkpoint", { error: formatError(thrown) });
    }
  }

  /** Removes files that only expired snapshots need. */
  async #removeRetired(signal: AbortSignal | undefined): Promise<void> {
    const { files, nowMs, snapshotsMs = defaultSnapshotsMs } = this.#options;
    const due = [...this.#retired].filter(([, timeMs]) => timeMs < nowMs() - snapshotsMs);
    if (due.length === 0) return;
    await this.#publishTables(signal, true);
    for (const [path] of due) {
      await files.remove(path, signal);
      this.#retired.delete(path);
    }
  }

  #notIceberg(): GpulseError {
    return new GpulseError(
      "USAGE",
      `${this.#options.files.name} is a lake of plain Parquet: leave out format=iceberg, or copy it with gpulse pipe --from parquet:OLD --to "parquet:NEW?format=iceberg".`,
    );
  }
}

/** The location as Iceberg's readers address it: a folder as a file URL, anything else without its query. */
const locationOf = (name: string): string => {
  const place = (name.split("?", 1)[0] ?? name).replace(/\/$/, "");
  return place.includes("://") ? place : `file://${place}`;
};

const encode = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
