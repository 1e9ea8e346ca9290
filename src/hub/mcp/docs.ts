/** The documentation pages that MCP clients may read: copies beside the bundle in a build, docs/ of the repository otherwise. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import docs from "./docs.json" with { type: "json" };

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** `scripts/build.mjs` copies the pages there. */
const builtDir = at("./pack/docs");
const docsDir = existsSync(builtDir) ? builtDir : at("../../../docs");

export interface DocPage {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly file: string;
}

export const docPages: readonly DocPage[] = docs.map(({ name, title, file }) => ({
  uri: `gpulse://docs/${name}`,
  name,
  title,
  file,
}));

/** Returns undefined if there is no such page. */
export async function readDocPage(uri: string): Promise<string | undefined> {
  const page = docPages.find((one) => one.uri === uri);
  return page && readFile(path.join(docsDir, page.file), "utf8");
}
