/** Expands a path with wildcards in its last part to the matching files, sorted: `*`, `?` and `[a-z]`, as Go's filepath.Glob. */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export function expandGlob(pattern: string): string[] {
  const last = basename(pattern);
  if (!/[*?[]/.test(last)) return isFile(pattern) ? [pattern] : [];
  const folder = dirname(pattern);
  const matches = compile(last);
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => matches.test(name))
    .sort()
    .map((name) => join(folder, name));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function compile(glob: string): RegExp {
  const source = glob.replace(/\[\^?[^\]]+\]|[\\^$.|+(){}*?[\]]/g, (part) => {
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    return part.length > 1 ? part : `\\${part}`;
  });
  return new RegExp(`^${source}$`, "su");
}
