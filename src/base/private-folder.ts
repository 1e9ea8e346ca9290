/** A folder that only its owner may read. Restricts an existing folder as well: earlier versions left it readable by everyone. */
import { chmodSync, lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { systemCode } from "./error.ts";
import { makeFolderSync } from "./make-folder.ts";

const othersBits = 0o077;

/** Sets folders to 0700 and files to 0600 if this account owns them. Links are not followed. */
export function makePrivateFolder(folder: string): void {
  makeFolderSync(folder, { mode: 0o700 });
  const owner = process.getuid?.();
  // On Windows the folder's ACL controls access.
  if (owner !== undefined) closeToOthers(folder, owner);
}

function closeToOthers(file: string, owner: number): void {
  try {
    closeOne(file, owner);
  } catch (thrown) {
    // A file system without modes, or a file removed meanwhile: the hub starts anyway.
    if (systemCode(thrown) === undefined) throw thrown;
  }
}

function closeOne(file: string, owner: number): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== owner) return;
  if (!found.isDirectory() && !found.isFile()) return;
  if ((found.mode & othersBits) !== 0) chmodSync(file, found.mode & 0o700);
  if (!found.isDirectory()) return;
  for (const name of readdirSync(file)) closeToOthers(path.join(file, name), owner);
}
