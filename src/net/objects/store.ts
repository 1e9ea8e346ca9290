/**
 * File storage: a folder, a bucket or HDFS behind the same few operations. A reader sees a file whole or not at
 * all, whatever happens to the writer.
 */
import type { ErrorCode } from "../../base/codes.ts";
import { GpulseError } from "../../base/error.ts";

export interface FileInfo {
  /** From the store's root, with slashes. */
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
  /** The place as a person wrote it, without secrets. */
  readonly name: string;
  /** Every file whose path begins with the prefix, in the order of their paths; none where there is nothing. */
  list(prefix: string, signal?: AbortSignal): Promise<readonly FileInfo[]>;
  read(path: string, range?: ByteRange, signal?: AbortSignal): Promise<Uint8Array>;
  /** Replaces a file of that name; resolves when a crash of either side does not lose it. */
  write(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Writes a file that must not be there yet; false, with nothing changed, where one of that name is. Of several at once, one wins. */
  create(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<boolean>;
  /** Gives a file a name that no other has; a file that is not there has been moved already. */
  move(from: string, to: string, signal?: AbortSignal): Promise<void>;
  /** A file that is not there is removed already. */
  remove(path: string, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Where files lie until they are whole. Lists leave it out, and it is outside every table. */
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

/** @throws where a path would leave the store, or is none. */
export function checkPath(path: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "" || part === "." || part === ".."))
    throw new Error(`BUG: "${path}" is no path inside a file store`);
  return path;
}

/** Bytes in the order of text, so that every store lists alike. */
export function sortByPath(files: readonly FileInfo[]): FileInfo[] {
  return [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
