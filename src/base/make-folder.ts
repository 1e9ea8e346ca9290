/**
 * Creates a folder and its missing parents. Do not use the recursive option of Node's own mkdir: if a parent exists and mkdir still
 * fails with ENOENT, as in /proc and /sys, Node 20 retries forever and no signal handler runs meanwhile.
 */
import { mkdirSync, statSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { GpulseError, formatError, systemCode } from "./error.ts";

export interface FolderOptions {
  /** The mode of every folder created; 0o777 minus the umask if absent. */
  readonly mode?: number;
}

/** @throws GpulseError FOLDER_UNUSABLE with the system's error as its cause. A folder that exists stays as it is. */
export function makeFolderSync(folder: string, options: FolderOptions = {}): void {
  const folders = upwards(folder);
  try {
    const missing: string[] = [];
    for (const one of folders) {
      if (isFolderSync(one)) break;
      missing.unshift(one);
    }
    for (const one of missing)
      try {
        mkdirSync(one, options);
      } catch (thrown) {
        // Another process may have created it meanwhile.
        if (!isFolderSync(one)) throw thrown;
      }
  } catch (thrown) {
    throw folderError(folder, thrown);
  }
}

/** `makeFolderSync` without blocking: the folder may be on a network file system that does not respond. */
export async function makeFolder(folder: string, options: FolderOptions = {}): Promise<void> {
  const folders = upwards(folder);
  try {
    const missing: string[] = [];
    for (const one of folders) {
      if (await isFolder(one)) break;
      missing.unshift(one);
    }
    for (const one of missing)
      await mkdir(one, options).catch(async (thrown: unknown) => {
        if (!(await isFolder(one))) throw thrown;
      });
  } catch (thrown) {
    throw folderError(folder, thrown);
  }
}

/** The folder, its parent, and so on to the root. */
function upwards(folder: string): string[] {
  const folders = [path.resolve(folder)];
  for (let one = folders[0] ?? ""; path.dirname(one) !== one; one = path.dirname(one))
    folders.push(path.dirname(one));
  return folders;
}

function isFolderSync(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

async function isFolder(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The error of a folder that could not be created, with the reason and what to do. */
export function folderError(folder: string, thrown: unknown): GpulseError {
  const failed =
    thrown instanceof Error && "path" in thrown && typeof thrown.path === "string"
      ? thrown.path
      : folder;
  return new GpulseError(
    "FOLDER_UNUSABLE",
    `Cannot create the folder ${folder}: ${reason(failed, thrown)}`,
    { cause: thrown },
  );
}

/** `failed`: the folder, or the parent of it, for which the system returned the error. */
function reason(failed: string, thrown: unknown): string {
  const parent = path.dirname(failed);
  switch (systemCode(thrown)) {
    case "ENOENT":
      return `${parent} does not accept new folders. Choose another folder.`;
    case "EEXIST":
      return `${failed} is not a folder. Choose another folder.`;
    case "ENOTDIR":
      return `${parent} is not a folder. Choose another folder.`;
    case "EACCES":
    case "EPERM":
      return `this user may not create ${failed}. Change the permissions of ${parent}, or choose another folder.`;
    case "EROFS":
      return `${parent} is on a read-only file system. Choose another folder.`;
    case "ENOSPC":
    case "EDQUOT":
      return "no space is left on the disk. Free some, or choose another folder.";
    case undefined:
    default:
      return `${formatError(thrown)}. Choose another folder.`;
  }
}
