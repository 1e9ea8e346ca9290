/**
 * The current files of a lake as gpulse reads them: a commit is effective from the moment it exists, even if its files are not
 * yet in their tables and the files it replaces still are.
 */
import { silentLog } from "../base/log.ts";
import type { FileInfo, FileStore } from "../net/objects/store.ts";
import { pendingFolder, pendingId } from "./commit.ts";
import { LakeManifest } from "./manifest.ts";
import { type LakeFileName, parsePath } from "./names.ts";
import { type MergeNote, readNotes } from "./notes.ts";
import type { TableName } from "./table.ts";

export interface LakeFile extends FileInfo, LakeFileName {}

/** Lists a table's files; each row is in them once, except for rows delivered twice. Dates as text, inclusive. */
export async function listLake(
  files: FileStore,
  table: TableName,
  dates: { readonly from?: string; readonly to?: string } = {},
  signal?: AbortSignal,
): Promise<readonly LakeFile[]> {
  // Read before and after the listing: a merge may begin or end meanwhile.
  const before = await readUnfinished(files, signal);
  const found: LakeFile[] = [];
  for (const info of await listTable(files, table, signal)) {
    const name = parsePath(info.path);
    if (name === undefined) continue;
    if (name.date < (dates.from ?? "") || name.date > (dates.to ?? "9")) continue;
    found.push({ ...info, ...name });
  }
  const notes = [...before, ...(await readUnfinished(files, signal))];
  const there = new Set(found.map(({ path }) => path));
  const staged = new Map<string, LakeFile>();
  for (const { into, staged: place } of notes) {
    const name = parsePath(into);
    if (place === undefined || there.has(into) || name?.table !== table) continue;
    if (name.date < (dates.from ?? "") || name.date > (dates.to ?? "9")) continue;
    for (const info of await files.list(place, signal)) staged.set(into, { ...name, ...info });
  }
  const replaced = new Set(
    notes.flatMap(({ into, replaces }) => (there.has(into) || staged.has(into) ? replaces : [])),
  );
  return [...found.filter(({ path }) => !replaced.has(path)), ...staged.values()];
}

/**
 * Every file in the date folders; for an Iceberg table only the current files, since replaced ones stay for its earlier
 * snapshots.
 */
async function listTable(
  files: FileStore,
  table: TableName,
  signal: AbortSignal | undefined,
): Promise<readonly FileInfo[]> {
  const plain = await files.list(`${table}/date=`, signal);
  if ((await files.list(`${table}/data/date=`, signal)).length === 0) return plain;
  const manifest = new LakeManifest({ files, log: silentLog, nowMs: () => 0 });
  // The listing must follow the refresh: then it contains every current file, even one that is replaced meanwhile.
  await manifest.refresh(signal);
  const data = await files.list(`${table}/data/date=`, signal);
  return [...plain, ...data.filter(({ path }) => manifest.files.has(path))];
}

/** Commits that are not yet published. */
async function readUnfinished(
  files: FileStore,
  signal: AbortSignal | undefined,
): Promise<readonly MergeNote[]> {
  const found: MergeNote[] = [...(await readNotes(files, signal))];
  const ids = new Set((await files.list(pendingFolder, signal)).map(({ path }) => pendingId(path)));
  // The usual case: a commit is published within milliseconds.
  if (ids.size === 0) return found;
  const manifest = new LakeManifest({ files, log: silentLog, nowMs: () => 0 });
  await manifest.refresh(signal);
  for (const id of ids) {
    const commit = manifest.commitWith(id);
    for (const { path, staged } of commit?.added ?? [])
      if (staged !== undefined) found.push({ into: path, staged, replaces: commit?.removed ?? [] });
  }
  return found;
}
