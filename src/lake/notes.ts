/**
 * Notes of merges, `_merges/NAME.json`: how lakes before the manifest committed a merge, and how a mirror still does. While a note exists,
 * readers take the merged file and skip the files that it replaces.
 */
import * as v from "valibot";
import type { FileStore } from "../net/objects/store.ts";

/** What a merge is about to do, or was when it was killed. Paths from the lake's root. */
const noteSchema = v.object({
  into: v.string(),
  replaces: v.array(v.string()),
  /** Where the merged file lies until the replaced ones are gone; absent in notes of mirrors. */
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
    // Ended between the two looks.
    if (text === undefined) continue;
    notes.push({ ...v.parse(noteSchema, JSON.parse(Buffer.from(text).toString("utf8"))), path });
  }
  return notes;
}

/** A committed merge to its end. A note without `staged` was written before its merged file: without that nothing happened. */
export async function endMerge(
  files: FileStore,
  { path, into, replaces, staged }: MergeNote & { readonly path: string },
  signal?: AbortSignal,
): Promise<void> {
  const isThere = async (file: string): Promise<boolean> =>
    (await files.list(file, signal)).some((one) => one.path === file);
  // Nothing is removed that no file stands for, should somebody have deleted the merged one.
  if ((await isThere(into)) || (staged !== undefined && (await isThere(staged))))
    for (const old of replaces) await files.remove(old, signal);
  if (staged !== undefined) await files.move(staged, into, signal);
  await files.remove(path, signal);
}
