// Reads the repository's own source files for the architecture tests.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { repository } from "../../engines/program.ts";

const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "testdata"]);

/** Source files under a folder of the repository, as paths with forward slashes. */
export function sourceFiles(folder: string): string[] {
  const start = path.join(repository, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : sourceFiles(file);
    return /\.(ts|tsx|mjs|css)$/.test(entry.name) ? [file] : [];
  });
}

export function readSource(file: string): string {
  return readFileSync(path.join(repository, file), "utf8");
}

// Type-only imports count too, since a type is a dependency on the other folder. Comments are removed first, strings are not,
// which is sufficient since only paths and node: names are examined.
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const IMPORT = /\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g;

/** The imports in a file's text, as written. */
export function importsOf(text: string): string[] {
  return [...text.replace(COMMENT, "").matchAll(IMPORT)].map((match) => match[1] ?? "");
}

/** A relative import as a path in the repository; anything else is undefined. */
export function resolveImport(file: string, imported: string): string | undefined {
  if (!imported.startsWith(".")) return undefined;
  return path.posix.normalize(path.posix.join(path.posix.dirname(file), imported));
}
