/**
 * Notes of merges, `_merges/NAME.json`: how lakes from before the manifest committed a merge, and how a mirror still does. While
 * a note exists, readers use the merged file and skip the files that it replaces.
 */
import * as v from "valibot";
import type { FileStore } from "../net/objects/store.ts";

/** A merge that is about to run or was killed. Paths are relative to the lake's root. */
const noteSchema = v.object({
  into: v.string(),
  replaces: v.array(v.string()),
  /** Where the merged file is until the replaced ones are removed; absent in notes of mirrors. */
  staged: v.optional(v.string()),
});
export type MergeNote = v.InferOutput<typeof noteSchema>;

export const notesFolder = "_merges/";

export async function readNotes(
  files: FileStore,
  signal?: AbortSignal,
): Promise<readonly (MergeNote & { readonly path: string })[]> {
  const notes: (MergeNote & { readonly path: string })[] = [];
  for (const { path } of await files.list(notesFolder, signal)) {
    if (!path.endsWith(".json")) continue;
    const text = await files.read(path, undefined, signal).catch(() => undefined);
    // The merge ended between listing and reading.
    if (text === undefined) continue;
    notes.push({ ...v.parse(noteSchema, JSON.parse(Buffer.from(text).toString("utf8"))), path });
  }
  return notes;
}

/**
 * Completes a committed merge. A note without `staged` was written before its merged file: without that file nothing happened.
 */
export async function endMerge(
  files: FileStore,
  { path, into, replaces, staged }: MergeNote & { readonly path: string },
  signal?: AbortSignal,
): Promise<void> {
  const isThere = async (file: string): Promise<boolean> =>
    (await files.list(file, signal)).some((one) => one.path === file);
  // Removes nothing if the merged file is missing, for example because somebody deleted it.
  if ((await isThere(into)) || (staged !== undefined && (await isThere(staged))))
    for (const old of replaces) await files.remove(old, signal);
  if (staged !== undefined) await files.move(staged, into, signal);
  await files.remove(path, signal);
}
