// Damage to the log of a hub that is down, as a disk that lost its cache or a bad sector leaves it: samples that were acknowledged are
// lost then, and the hub has to report how many. Damage to each other file is test/store/bit-damage.test.ts.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import type { Chance } from "./life.ts";

const writtenBytes = (file: string): number =>
  readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;

/** The newest file of the folder that holds anything. */
function newest(folder: string, pattern: RegExp): string | undefined {
  const files = readdirSync(folder).filter((name) => pattern.test(name));
  return files
    .sort()
    .map((name) => path.join(folder, name))
    .findLast((file) => writtenBytes(file) > 64);
}

function change(file: string, edit: (bytes: Buffer, end: number) => void): void {
  const end = writtenBytes(file);
  const bytes = readFileSync(file);
  edit(bytes, end);
  writeFileSync(file, bytes);
}

const damages: Readonly<Record<string, (dataDir: string, chance: Chance) => boolean>> = {
  "end of the log lost": (dataDir, chance) => {
    const file = newest(path.join(dataDir, "wal"), /\.wal$/);
    if (file === undefined) return false;
    change(file, (bytes, end) => bytes.fill(0, Math.floor(end * chance.between(0.5, 0.95))));
    return true;
  },
  "bit flipped in the log": (dataDir, chance) => {
    const file = newest(path.join(dataDir, "wal"), /\.wal$/);
    if (file === undefined) return false;
    change(file, (bytes, end) => {
      const at = Math.floor(end * chance.between(0.1, 0.9));
      bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.whole(0, 7));
    });
    return true;
  },
};

/** Damages one file; returns its kind, or undefined where there is nothing to damage yet. */
export function damageFiles(dataDir: string, chance: Chance): string | undefined {
  const kind = chance.pick(Object.keys(damages));
  return damages[kind]?.(dataDir, chance) === true ? kind : undefined;
}
