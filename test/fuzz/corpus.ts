// The stored inputs: per target one file with the inputs that reach its code, and one file per input that once broke it.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("corpus", import.meta.url));
const corpusFile = "kept.txt";

/** Keeps the whole corpus below a megabyte in the repository. */
const largestInputBytes = 2_048;
const largestTargetBytes = 8_192;

const linesOf = (target: string): Buffer[] => {
  const file = path.join(folder, target, corpusFile);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(1, -1);
  return lines.map((line) => Buffer.from(line, "base64url"));
};

/** Every stored input of a target, with the name of its file. */
export function readCorpus(target: string): readonly { name: string; bytes: Buffer }[] {
  const own = path.join(folder, target);
  const broken = existsSync(own) ? readdirSync(own).filter((name) => name.endsWith(".bin")) : [];
  return [
    ...broken.sort().map((name) => ({ name, bytes: readFileSync(path.join(own, name)) })),
    ...linesOf(target).map((bytes, index) => ({ name: `${corpusFile}:${index + 2}`, bytes })),
  ];
}

export function saveFinding(target: string, bytes: Uint8Array): string {
  const own = path.join(folder, target);
  mkdirSync(own, { recursive: true });
  const print = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const file = path.join(own, `crash-${print}.bin`);
  writeFileSync(file, bytes);
  return file;
}

/** Stores the smallest inputs first, up to the size limit: many small inputs cover more than one large. */
export function saveCorpus(target: string, corpus: readonly Uint8Array[]): void {
  const sorted = [...corpus].sort((left, right) => left.length - right.length);
  const lines: string[] = [];
  let bytes = 0;
  for (const input of sorted) {
    if (input.length > largestInputBytes) break;
    const line = Buffer.from(input).toString("base64url");
    bytes += line.length + 1;
    if (bytes > largestTargetBytes) break;
    lines.push(line);
  }
  if (lines.length === 0) return;
  mkdirSync(path.join(folder, target), { recursive: true });
  const head = "base64url, an input a line, written by npm run fuzz -- --keep";
  writeFileSync(path.join(folder, target, corpusFile), `${[head, ...lines].join("\n")}\n`);
}

/** Folders of the corpus, to find those of removed targets. */
export const corpusFolders = (): string[] => (existsSync(folder) ? readdirSync(folder).sort() : []);
