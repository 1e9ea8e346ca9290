/**
 * Copies a lake's files to another place and keeps the copy up to date: files merged here replace their sources there. Files
 * expired here stay there. It can be interrupted at any point and resumes there.
 */
import type { FileInfo, FileStore } from "../net/objects/store.ts";
import { type LakeFile, listLake } from "./files.ts";
import { parsePath, partitionFolder } from "./names.ts";
import { notesFolder } from "./notes.ts";
import { tableNames } from "./table.ts";

export interface MirrorResult {
  readonly copied: number;
  readonly bytes: number;
  readonly removed: number;
}

export async function mirrorLake(
  from: FileStore,
  to: FileStore,
  signal: AbortSignal,
): Promise<MirrorResult> {
  let [copied, bytes, removed] = [0, 0, 0];
  for (const table of tableNames) {
    const ours = await listLake(from, table, {}, signal);
    const there = new Map<string, FileInfo>();
    for (const file of await to.list(`${table}/date=`, signal))
      if (parsePath(file.path) !== undefined) there.set(file.path, file);
    for (const date of new Set(ours.map((file) => file.date))) {
      const now = ours.filter((file) => file.date === date);
      const names = new Set(now.map(nameIn));
      const outdated = [...there.keys()].filter(
        (path) => parsePath(path)?.date === date && !names.has(path),
      );
      const missing = now.filter((file) => {
        const copy = there.get(nameIn(file));
        // A day of jobs is rewritten as jobs end; all other files are immutable.
        const isOlder = table === "jobs" && (copy?.modifiedMs ?? 0) < file.modifiedMs;
        return copy?.bytes !== file.bytes || isOlder;
      });
      // The merged file may replace any of the outdated ones: readers of the mirror skip those as soon as it begins to be
      // written.
      const merged = missing.find((file) => file.merged);
      const into = merged === undefined ? undefined : nameIn(merged);
      const note = `${notesFolder}mirror-${table}-${date}.json`;
      if (into !== undefined && outdated.length > 0)
        await to.write(note, Buffer.from(JSON.stringify({ into, replaces: outdated })), signal);
      for (const file of missing) {
        signal.throwIfAborted();
        await to.write(nameIn(file), await from.read(file.path, undefined, signal), signal);
        copied++;
        bytes += file.bytes;
      }
      for (const path of outdated) {
        await to.remove(path, signal);
        removed++;
      }
      if (into !== undefined && outdated.length > 0) await to.remove(note, signal);
    }
  }
  return { copied, bytes, removed };
}

/** A merged file may still be outside its table. */
const nameIn = ({ table, date, name }: LakeFile): string => partitionFolder(table, date) + name;
