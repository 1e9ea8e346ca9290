/** Selects the files of a lake that an analysis needs, and caches copies of remote ones. Never changes the lake. */
import { createHash } from "node:crypto";
import { open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../base/make-folder.ts";
import { GpulseError } from "../../base/error.ts";
import { FolderFiles } from "../../net/objects/folder.ts";
import type { FileInfo, FileStore } from "../../net/objects/store.ts";
import { silentLog } from "../../base/log.ts";
import { listLake as listTable } from "../files.ts";
import { LakeManifest } from "../manifest.ts";
import type { AnalysisSettings } from "./parameters.ts";
import type { LakeSpan } from "./statement.ts";

const dayMs = 86_400_000;
const partBytes = 16 * 2 ** 20;

export interface LakeFiles {
  readonly files: readonly FileInfo[];
  readonly span: LakeSpan;
  /** The places in `files` of those in which no row can be a duplicate. */
  readonly unique: ReadonlySet<number>;
  /** Changes whenever a file is added, removed or replaced. */
  readonly version: string;
}

/** The files of the requested dates; for today those that are complete so far. */
export async function listLake(
  store: FileStore,
  { sinceMs, untilMs }: Pick<AnalysisSettings, "sinceMs" | "untilMs">,
  signal?: AbortSignal,
  table: "gpu" | "jobs" = "gpu",
): Promise<LakeFiles> {
  const files: FileInfo[] = [];
  const days: number[] = [];
  for (const file of await listTable(store, table, {}, signal)) {
    const startMs = Date.parse(`${file.date}T00:00:00Z`);
    if (Number.isNaN(startMs) || startMs + dayMs <= sinceMs || startMs >= untilMs) continue;
    files.push(file);
    days.push(startMs);
  }
  const version = createHash("sha256");
  for (const { path: name, bytes, modifiedMs } of files)
    version.update(`${name}\n${bytes}\n${modifiedMs}\n`);
  return {
    files,
    unique: table === "gpu" ? await uniqueFiles(store, files, signal) : new Set(),
    // Looped, not spread: a long lake has more files than a call accepts arguments.
    span: {
      firstMs: days.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
      lastMs: days.reduce((most, one) => Math.max(most, one), 0) + dayMs,
    },
    version: version.digest("hex").slice(0, 24),
  };
}

/**
 * A file's writer joins duplicate rows, so only rows of other files of the same time can repeat them. Empty unless every
 * file is as the manifest has it: of the others neither is known.
 */
async function uniqueFiles(
  store: FileStore,
  files: readonly FileInfo[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<number>> {
  const manifest = new LakeManifest({ files: store, log: silentLog, nowMs: () => 0 });
  await manifest.refresh(signal);
  const ranges: { readonly at: number; readonly firstMs: number; readonly lastMs: number }[] = [];
  for (const [at, { path: name, bytes }] of files.entries()) {
    const committed = manifest.files.get(name);
    if (committed?.bytes !== bytes) return new Set();
    const { firstMs, lastMs } = committed;
    // Of a file from before the manifest, which may be another program's, only the day is known.
    if (lastMs - firstMs >= dayMs - 1) return new Set();
    ranges.push({ at, firstMs, lastMs });
  }
  ranges.sort((a, b) => a.firstMs - b.firstMs);
  const unique = new Set<number>();
  let untilMs = Number.NEGATIVE_INFINITY;
  for (const [place, { at, firstMs, lastMs }] of ranges.entries()) {
    const nextMs = ranges[place + 1]?.firstMs ?? Number.POSITIVE_INFINITY;
    if (firstMs > untilMs && lastMs < nextMs) unique.add(at);
    untilMs = Math.max(untilMs, lastMs);
  }
  return unique;
}

export function emptyLake(where: string, table: "gpu" | "jobs" = "gpu"): GpulseError {
  if (table === "jobs")
    return new GpulseError(
      "LAKE_EMPTY",
      `${where} has no files of the jobs table (jobs/date=…/*.parquet) for the requested time: check the address and --since; a hub with a lake and a job ledger writes it every 15 minutes.`,
    );
  return new GpulseError(
    "LAKE_EMPTY",
    `${where} has no files of the GPU table (gpu/date=…/*.parquet) for the requested time: ` +
      "check the address and --since; gpulse pipe --from … --to parquet:FOLDER creates a lake.",
  );
}

export interface CopyOptions {
  readonly cacheDir: string;
  readonly cacheBytes: number;
  readonly onProgress?: (fraction: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** The local paths of an analysis's files, as its engine takes them. */
export const pathsOf = (
  { unique }: LakeFiles,
  paths: readonly string[],
): { readonly paths: readonly string[]; readonly unique: ReadonlySet<string> } => ({
  paths,
  unique: new Set(paths.filter((_, at) => unique.has(at))),
});

/** Local paths, in the same order: the files themselves if the lake is a local folder, else copies in the cache. */
export async function localPaths(
  store: FileStore,
  { files }: LakeFiles,
  options: CopyOptions,
): Promise<readonly string[]> {
  if (store instanceof FolderFiles) return files.map((file) => path.join(store.name, file.path));
  const needed = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (needed > options.cacheBytes)
    throw new GpulseError(
      "ANALYSIS_TOO_LARGE",
      `${store.name}: ${gib(needed)} are needed and the cache has ${gib(options.cacheBytes)}: ` +
        "request fewer days with --since and --until, allow more with --cache-size, or use --engine spark, which reads them in place.",
    );
  await makeFolder(options.cacheDir);
  const wanted = files.map((file) => ({
    file,
    place: path.join(options.cacheDir, keyOf(store, file)),
  }));
  await makeRoom(
    options.cacheDir,
    new Set(wanted.map(({ place }) => place)),
    options.cacheBytes - needed,
  );
  let done = 0;
  for (const { file, place } of wanted) {
    options.signal?.throwIfAborted();
    if (!(await isWhole(place, file.bytes))) await copy(store, file, place, options.signal);
    done += file.bytes;
    options.onProgress?.(needed === 0 ? 1 : done / needed);
  }
  return wanted.map(({ place }) => place);
}

function keyOf(store: FileStore, { path: name, bytes, modifiedMs }: FileInfo): string {
  const key = [store.name, name, bytes, modifiedMs].join("\n");
  return `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.parquet`;
}

/** True if the cached copy is complete; updates its access time. */
async function isWhole(place: string, bytes: number): Promise<boolean> {
  const found = await stat(place).catch(() => undefined);
  if (found?.size !== bytes) return false;
  const now = new Date();
  await utimes(place, now, now).catch(() => {});
  return true;
}

async function copy(
  store: FileStore,
  file: FileInfo,
  place: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const aside = `${place}.${process.pid}.part`;
  const handle = await open(aside, "w");
  try {
    for (let start = 0; start < file.bytes; start += partBytes) {
      const end = Math.min(file.bytes, start + partBytes);
      const bytes = await store.read(file.path, { start, end }, signal);
      await handle.write(bytes, 0, bytes.length, start);
    }
    await handle.close();
    await rename(aside, place);
  } catch (thrown) {
    await handle.close().catch(() => {});
    await rm(aside, { force: true });
    throw thrown;
  }
}

/** Evicts the least recently used files until the rest fits. */
async function makeRoom(dir: string, keep: ReadonlySet<string>, bytes: number): Promise<void> {
  const others: { place: string; size: number; usedMs: number }[] = [];
  for (const name of await readdir(dir)) {
    const place = path.join(dir, name);
    if (!/^[0-9a-f]{32}\.parquet$/.test(name) || keep.has(place)) continue;
    const found = await stat(place).catch(() => undefined);
    if (found !== undefined) others.push({ place, size: found.size, usedMs: found.mtimeMs });
  }
  others.sort((a, b) => b.usedMs - a.usedMs);
  let cachedBytes = 0;
  for (const { place, size } of others) {
    cachedBytes += size;
    if (cachedBytes > bytes) await rm(place, { force: true });
  }
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
