/**
 * Compares a lake with its manifest: every file is readable, rows and offsets match the commit, no row is duplicated, and every
 * file belongs to a commit. Read-only.
 */
import { formatError } from "../base/error.ts";
import { silentLog } from "../base/log.ts";
import type { FileInfo, FileStore } from "../net/objects/store.ts";
import { type CommittedFile, namesPending, pendingFolder, pendingId } from "./commit.ts";
import { openFile } from "./decode.ts";
import { LakeManifest } from "./manifest.ts";
import { type OffsetRange, parsePath } from "./names.ts";
import { joinRanges, readOrigins } from "./ranges.ts";
import { sortedBy } from "./schema.ts";
import { committedTables, type Rows } from "./table.ts";

/**
 * The kinds of problems: a repair needs a backup or Kafka, except for `unfinished`, which the next writer completes, and `stray`,
 * which the user has to judge.
 */
const problemKinds = [
  "missing",
  "unreadable",
  "changed",
  "overlap",
  "duplicates",
  "unfinished",
  "stray",
] as const;

export interface LakeProblem {
  readonly kind: (typeof problemKinds)[number];
  readonly path: string;
  /** One sentence. */
  readonly message: string;
}

export interface LakeReport {
  /** The newest commit; 0 for a lake without a manifest. */
  readonly sequence: number;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  readonly offsets: readonly OffsetRange[];
  /** Files that wait for the commit of a running writer. */
  readonly waiting: number;
  /** Days whose rows were not compared with each other, with the reason. */
  readonly unchecked: readonly { readonly day: string; readonly reason: string }[];
  readonly problems: readonly LakeProblem[];
}

export interface VerifyOptions {
  /** Reads only footers, not rows. */
  readonly quick?: boolean;
  readonly onProgress?: (fraction: number) => void;
  readonly signal?: AbortSignal;
}

/** Limit of the keys of one day held in memory, about 40 bytes each. */
const maxDayRows = 20_000_000;

export async function verifyLake(
  files: FileStore,
  { quick = false, onProgress, signal }: VerifyOptions = {},
): Promise<LakeReport> {
  const problems: LakeProblem[] = [];
  const manifest = new LakeManifest({ files, log: silentLog, nowMs: () => 0 });
  await manifest.refresh(signal);
  const { sequence } = manifest;
  const committed = [...manifest.files.values()];
  const listed = new Map<string, FileInfo>();
  for (const table of committedTables)
    for (const info of await files.list(`${table}/`, signal)) listed.set(info.path, info);
  const pending = await files.list(pendingFolder, signal);
  // A writer may have committed meanwhile: a file it added is not stray, and a file it removed is not missing.
  await manifest.refresh(signal);
  const isCurrent = ({ path }: CommittedFile): boolean => manifest.files.has(path);
  const unfinished = new Set<string>();
  for (const { path } of pending) {
    const commit = manifest.commitWith(pendingId(path));
    if (commit === undefined || !namesPending(commit, path)) continue;
    const places = [...commit.removed, ...commit.added.map((file) => file.path)];
    for (const place of places) unfinished.add(place);
    problems.push({
      kind: "unfinished",
      path,
      message: `Commit ${commit.sequence} is not published: a writer does it now, or the next one that starts, or gpulse lake compact.`,
    });
  }
  for (const path of listed.keys())
    if (
      parsePath(path) !== undefined &&
      !manifest.files.has(path) &&
      !manifest.retired.has(path) &&
      !unfinished.has(path)
    )
      problems.push({
        kind: "stray",
        path,
        message: "No commit names this file, but readers that glob read it.",
      });
  const days = new DayRows();
  let done = 0;
  for (const file of byDay(committed)) {
    signal?.throwIfAborted();
    if (!unfinished.has(file.path)) {
      const found = await checkFile(files, file, listed.get(file.path), quick, signal);
      if (found.rows !== undefined) days.add(file, found.rows, problems);
      if (found.problem !== undefined && isCurrent(file)) problems.push(found.problem);
    }
    onProgress?.(++done / committed.length);
  }
  return {
    sequence,
    files: committed.length,
    rows: committed.reduce((sum, { rows }) => sum + rows, 0),
    bytes: committed.reduce((sum, { bytes }) => sum + bytes, 0),
    offsets: joinRanges(committed.flatMap(({ origins = [] }) => origins)),
    waiting: pending.filter(({ path }) => manifest.commitWith(pendingId(path)) === undefined)
      .length,
    unchecked: days.unchecked,
    problems: [...problems, ...findOverlaps(committed)],
  };
}

async function checkFile(
  files: FileStore,
  file: CommittedFile,
  info: FileInfo | undefined,
  quick: boolean,
  signal: AbortSignal | undefined,
): Promise<{ readonly problem?: LakeProblem; readonly rows?: Rows }> {
  const { path } = file;
  const problem = (kind: LakeProblem["kind"], message: string) => ({
    problem: { kind, path, message },
  });
  if (info === undefined)
    return problem("missing", "The manifest has this file, but the lake does not.");
  if (info.bytes !== file.bytes)
    return problem("changed", `It has ${info.bytes} bytes; ${file.bytes} were committed.`);
  try {
    const opened = await openFile(files, path, info.bytes, signal);
    if (opened.rowCount !== file.rows)
      return problem("changed", `It has ${opened.rowCount} rows; ${file.rows} were committed.`);
    const origins = JSON.stringify(joinRanges(readOrigins(opened.metadata)));
    // Files from before 0.3 have their offsets in their names.
    if (origins !== "[]" && origins !== JSON.stringify(joinRanges(file.origins ?? [])))
      return problem("changed", "Its footer has other offsets than were committed.");
    return quick ? {} : { rows: await opened.rows(0, opened.rowCount) };
  } catch (thrown) {
    signal?.throwIfAborted();
    return problem("unreadable", formatError(thrown));
  }
}

const byDay = (committed: readonly CommittedFile[]): readonly CommittedFile[] =>
  [...committed].sort((a, b) => (a.path < b.path ? -1 : 1));

/** Finds duplicate rows of one day: equal in the table's sort columns and the time. */
class DayRows {
  readonly unchecked: { day: string; reason: string }[] = [];
  #day = "";
  #count = 0;
  #seen = new Map<string, Set<number>>();

  add({ path }: CommittedFile, rows: Rows, problems: LakeProblem[]): void {
    const day = path.slice(0, path.lastIndexOf("/"));
    if (day !== this.#day) {
      this.#day = day;
      this.#count = 0;
      this.#seen = new Map();
    }
    if (this.#count > maxDayRows) return;
    this.#count += rows.count;
    if (this.#count > maxDayRows) {
      this.#seen = new Map();
      this.unchecked.push({ day, reason: `more than ${maxDayRows} rows` });
      return;
    }
    const repeated = this.#countRepeated(rows);
    if (repeated > 0)
      problems.push({
        kind: "duplicates",
        path,
        message: `${repeated} of its rows are in other files of the day too: gpulse lake compact leaves one of each.`,
      });
  }

  #countRepeated(rows: Rows): number {
    const columns = sortedBy[rows.table].map((name) =>
      rows.texts.find((column) => column.name === name),
    );
    let repeated = 0;
    for (let row = 0; row < rows.count; row++) {
      const key = columns
        .map((column) => column?.dictionary[column.index[row] ?? -1] ?? "")
        .join("\u0000");
      let times = this.#seen.get(key);
      if (times === undefined) this.#seen.set(key, (times = new Set()));
      const timeMs = rows.times[row] as number;
      if (times.has(timeMs)) repeated++;
      else times.add(timeMs);
    }
    return repeated;
  }
}

/** Finds files of one day of a table that hold the same offsets. */
function findOverlaps(committed: readonly CommittedFile[]): LakeProblem[] {
  const days = new Map<string, { readonly path: string; readonly range: OffsetRange }[]>();
  for (const { path, origins = [] } of committed)
    for (const range of origins) {
      const key = [path.slice(0, path.lastIndexOf("/")), range.log, range.logId, range.partition];
      const day = days.get(key.join("\u0000"));
      if (day === undefined) days.set(key.join("\u0000"), [{ path, range }]);
      else day.push({ path, range });
    }
  return [...days.values()].flatMap((ranges) => {
    const sorted = ranges.sort((a, b) => a.range.first - b.range.first);
    return sorted.flatMap(({ path, range }, at): LakeProblem[] => {
      const before = sorted[at - 1];
      if (before === undefined || before.range.last < range.first) return [];
      const message = `It has offset ${range.first} of ${range.log}, partition ${range.partition}, which ${before.path} has too.`;
      return [{ kind: "overlap", path, message }];
    });
  });
}
