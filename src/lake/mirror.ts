/**
 * Copies a lake's files to another place and keeps the copy in step: what was merged here takes the place of what it was made
 * of there. What was forgotten here stays there. It can be ended anywhere and goes on where it stopped.
 */
import type { FileStore } from "../net/objects/store.ts";
import { listLake, notesFolder } from "./files.ts";
import { parsePath } from "./names.ts";
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
    const there = new Map<string, number>();
    for (const file of await to.list(`${table}/date=`, signal))
      if (parsePath(file.path) !== undefined) there.set(file.path, file.bytes);
    for (const date of new Set(ours.map((file) => file.date))) {
      const now = ours.filter((file) => file.date === date);
      const names = new Set(now.map(({ path }) => path));
      const outdated = [...there.keys()].filter(
        (path) => parsePath(path)?.date === date && !names.has(path),
      );
      const missing = now.filter((file) => there.get(file.path) !== file.bytes);
      // The merged file may replace any of the outdated ones: readers of the mirror skip those from its first byte on.
      const into = missing.find(({ merged }) => merged)?.path;
      const note = `${notesFolder}mirror-${table}-${date}.json`;
      if (into !== undefined && outdated.length > 0)
        await to.write(note, Buffer.from(JSON.stringify({ into, replaces: outdated })), signal);
      for (const file of missing) {
        signal.throwIfAborted();
        await to.write(file.path, await from.read(file.path, undefined, signal), signal);
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
