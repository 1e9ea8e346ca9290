/**
 * The current files of a lake. Files are merged under a note that lists what the merged one replaces; while the
 * note and the merged file exist, the replaced files are skipped.
 */
import * as v from "valibot";
import type { FileInfo, FileStore } from "../net/objects/store.ts";
import { type LakeFileName, parsePath } from "./names.ts";
import type { TableName } from "./table.ts";

export interface LakeFile extends FileInfo, LakeFileName {}

/** What a merge is about to do, or was when it was killed. Paths from the lake's root. */
const noteSchema = v.object({ into: v.string(), replaces: v.array(v.string()) });
export type MergeNote = v.InferOutput<typeof noteSchema>;

export const notesFolder = "_merges/";

export async function readNotes(
  files: FileStore,
  signal?: AbortSignal,
): Promise<readonly (MergeNote & { readonly path: string })[]> {
  const notes: (MergeNote & { readonly path: string })[] = [];
  for (const { path } of await files.list(notesFolder, signal)) {
    const text = await files.read(path, undefined, signal).catch(() => undefined);
    // Ended between the two looks.
    if (text === undefined) continue;
    notes.push({ ...v.parse(noteSchema, JSON.parse(Buffer.from(text).toString("utf8"))), path });
  }
  return notes;
}

/** A table's files, each row in them once but for what was delivered twice. Dates as text, both included. */
export async function listLake(
  files: FileStore,
  table: TableName,
  dates: { readonly from?: string; readonly to?: string } = {},
  signal?: AbortSignal,
): Promise<readonly LakeFile[]> {
  // Before and after: a merge may begin or end while the files are listed.
  const before = await readNotes(files, signal);
  const found: LakeFile[] = [];
  for (const info of await files.list(`${table}/date=`, signal)) {
    const name = parsePath(info.path);
    if (name === undefined) continue;
    if (name.date < (dates.from ?? "") || name.date > (dates.to ?? "9")) continue;
    found.push({ ...info, ...name });
  }
  const notes = [...before, ...(await readNotes(files, signal))];
  const there = new Set(found.map(({ path }) => path));
  const replaced = new Set(
    notes.flatMap(({ into, replaces }) => (there.has(into) ? replaces : [])),
  );
  return found.filter(({ path }) => !replaced.has(path));
}
