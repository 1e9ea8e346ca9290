/** Selects the run files to compare, and groups repeats. */
import { readdir } from "node:fs/promises";
import path from "node:path";
import { GpulseError, formatError } from "../../base/error.ts";
import type { NamedRun } from "../../hub/compare/run-series.ts";
import { readRunFile } from "../../runs/file/file.ts";

export async function loadRunFiles(
  files: readonly string[],
  groups: readonly string[],
): Promise<readonly NamedRun[]> {
  const wanted: { readonly file: string; readonly group?: string }[] = files.map((file) => ({
    file,
  }));
  for (const text of groups) {
    const at = text.indexOf("=");
    if (at <= 0 || at === text.length - 1)
      throw new GpulseError("USAGE", `--group must be NAME=FILES, not "${text}".`);
    const group = text.slice(0, at);
    for (const pattern of text.slice(at + 1).split(","))
      for (const file of await matching(pattern)) wanted.push({ file, group });
  }
  const names = shortNames(wanted.map(({ file }) => file));
  const found: NamedRun[] = [];
  for (const [at, { file, group }] of wanted.entries())
    found.push({
      name: names[at] ?? file,
      file: await readRunFile(file),
      ...(group === undefined ? {} : { group }),
    });
  return found;
}

/** The file's base name, or its whole path if two have the same. */
function shortNames(files: readonly string[]): readonly string[] {
  const short = files.map((file) => path.basename(file).replace(/\.gpulserun$/, ""));
  return new Set(short).size === short.length ? short : files;
}

/** Expands `*` and `?` in the last path segment; other names are returned unchanged, whether they exist or not. */
async function matching(pattern: string): Promise<readonly string[]> {
  const [folder, name] = [path.dirname(pattern), path.basename(pattern)];
  if (!/[*?]/.test(name)) return [pattern];
  const shape = new RegExp(
    `^${name
      .replaceAll(/[\\^$.+()[\]{}|]/g, String.raw`\$&`)
      .replaceAll("*", ".*")
      .replaceAll("?", ".")}$`,
  );
  const all = await readdir(folder).catch((thrown: unknown) => {
    throw new GpulseError(
      "USAGE",
      `--group: cannot read ${folder} (${formatError(thrown)}). Check the path.`,
    );
  });
  const found = all.filter((one) => shape.test(one)).sort();
  if (found.length === 0)
    throw new GpulseError("USAGE", `--group: no file matches ${pattern}. Check the pattern.`);
  return found.map((one) => (folder === "." ? one : path.join(folder, one)));
}
