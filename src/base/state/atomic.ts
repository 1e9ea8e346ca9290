/** Replaces a small file so that a crash leaves the old one or the new one, never a part. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { formatError, systemCode } from "../error.ts";

/** The file is replaced, but its folder could not be synced: a power cut may bring the old one back. */
export class ReplacedUnsyncedError extends Error {
  /** The system's code of the failed sync, as on its cause: a folder that cannot be synced is not a bug of ours. */
  readonly code: string | undefined;

  constructor(file: string, cause: unknown) {
    super(`${file} was replaced, but not synced: ${formatError(cause)}`, { cause });
    this.code = systemCode(cause);
  }
}

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
  try {
    syncFolder(path.dirname(file));
  } catch (thrown) {
    throw new ReplacedUnsyncedError(file, thrown);
  }
}

/** A new file name is durable only once its folder is synced. On systems that cannot sync folders, the rename has to do. */
export function syncFolder(dir: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(dir, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Removes a file that is no longer needed. If the disk does not allow it, the file stays and does no harm. */
export function removeLeftover(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Readers of the folder ignore it.
  }
}
