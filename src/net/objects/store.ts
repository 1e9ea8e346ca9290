/**
 * File storage: a folder, a bucket or HDFS behind the same few operations. A reader sees a complete file or none, whatever happens
 * to the writer.
 */
import type { ErrorCode } from "../../base/codes.ts";
import { GpulseError } from "../../base/error.ts";

export interface FileInfo {
  /** Relative to the store's root, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** From `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface FileStore {
  /** The configured location, without secrets. */
  readonly name: string;
  /** Every file whose path begins with the prefix, sorted by path; empty if there are none. */
  list(prefix: string, signal?: AbortSignal): Promise<readonly FileInfo[]>;
  read(path: string, range?: ByteRange, signal?: AbortSignal): Promise<Uint8Array>;
  /** Replaces a file of that name; resolves once the file survives a crash of either side. */
  write(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Writes a file that must not exist yet; false, with nothing changed, if the name is taken. Of concurrent calls, one wins. */
  create(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<boolean>;
  /** Renames a file to a name that no other file has; a missing file counts as moved already. */
  move(from: string, to: string, signal?: AbortSignal): Promise<void>;
  /** A missing file counts as removed already. */
  remove(path: string, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Holds files until they are complete. Lists leave it out, and it is outside every table. */
export const temporaryFolder = "_temporary";

/** A file store failed. Retryable errors may pass without intervention: a full disk, an unreachable server. */
export class FileStoreError extends GpulseError {
  readonly retryable: boolean;

  constructor(code: ErrorCode & `FILES_${string}`, sentence: string, cause?: unknown) {
    super(code, sentence, { cause });
    this.name = "FileStoreError";
    this.retryable = code === "FILES_UNREACHABLE" || code === "FILES_FULL";
  }
}

/** @throws if a path is invalid or leaves the store. */
export function checkPath(path: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "" || part === "." || part === ".."))
    throw new Error(`BUG: "${path}" is no path inside a file store`);
  return path;
}

/** Sorts by path, so that every store lists files in the same order. */
export function sortByPath(files: readonly FileInfo[]): FileInfo[] {
  return [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
