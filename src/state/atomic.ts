/** Replacing a small file so that a crash leaves the old one or the new one, never a part. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

export function replaceFile(file: string, text: string): void {
  const next = `${file}.tmp`;
  const fd = openSync(next, "w", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(next, file);
  syncFolder(path.dirname(file));
}

/** A new name is on the disk only when its folder is. Where a system cannot do that for folders, renaming is all there is. */
export function syncFolder(dir: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(dir, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
