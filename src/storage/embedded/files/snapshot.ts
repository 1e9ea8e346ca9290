/**
 * Copies of a store. Blocks are immutable, so a snapshot on the same file system hard-links them and takes no extra
 * space.
 */
import { copyFileSync, existsSync, linkSync, readdirSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../../base/make-folder.ts";
import { StoreError } from "../error.ts";
import { syncFolder } from "../../../base/state/atomic.ts";

const blockFolders = ["blocks", "rollups"] as const;

/** Creates the folder; throws if it exists and is not empty. */
export function newFolder(dir: string): void {
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw new StoreError(
      "unusable",
      `${dir} is not empty: choose a folder that does not exist yet.`,
    );
  for (const folder of blockFolders) makeFolderSync(path.join(dir, folder));
}

export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Creates a data folder from a snapshot, which is not modified. `onFile` is called for each copied file. */
export function restoreSnapshot(
  snapshotDir: string,
  dir: string,
  onFile: (file: string) => void = () => {},
): void {
  if (!existsSync(path.join(snapshotDir, "manifest.json")))
    throw new StoreError("unusable", `${snapshotDir} has no snapshot: manifest.json is missing.`);
  newFolder(dir);
  for (const folder of blockFolders) {
    // Snapshots of older versions have no rollups.
    if (!existsSync(path.join(snapshotDir, folder))) continue;
    for (const file of readdirSync(path.join(snapshotDir, folder))) {
      linkOrCopy(path.join(snapshotDir, folder, file), path.join(dir, folder, file));
      onFile(path.join(snapshotDir, folder, file));
    }
  }
  for (const file of readdirSync(snapshotDir))
    if (/^series-\d+\.(log|check)$/.test(file))
      copyFileSync(path.join(snapshotDir, file), path.join(dir, file));
  copyFileSync(path.join(snapshotDir, "manifest.json"), path.join(dir, "manifest.json"));
  syncFolder(dir);
}
