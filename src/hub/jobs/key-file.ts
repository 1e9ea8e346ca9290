/** A secret key in the data folder, created when first needed; it never leaves the machine. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { systemCode } from "../../base/error.ts";
import { makeFolderSync } from "../../base/make-folder.ts";

const keyBytes = 32;

export function readKey(file: string, random: (bytes: number) => Buffer): Buffer {
  makeFolderSync(path.dirname(file));
  try {
    writeFileSync(file, random(keyBytes), { mode: 0o600, flag: "wx" });
  } catch (thrown) {
    if (systemCode(thrown) !== "EEXIST") throw thrown;
  }
  const key = readFileSync(file);
  if (key.length !== keyBytes)
    throw new Error(
      `${file} is damaged: restore it, or delete it to create another, which voids all links signed with the old one`,
    );
  return key;
}
