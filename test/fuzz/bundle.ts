// Bundles a group of targets and all the code they run into one file with coverage counters. Packages stay external: they have
// their own fuzzers, and only our own branches should guide ours.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

import { repository } from "../../engines/program.ts";
import { instrument } from "./instrument.ts";

export interface FuzzBundle {
  readonly file: string;
  readonly words: readonly string[];
  readonly counters: number;
}

/** Inside node_modules, so that packages are resolved from there, and so that git and the build ignore it. */
const folder = path.join(repository, "node_modules", ".cache", "gpulse-fuzz");

/** Resolves `import.meta.url` to the original source, so that files beside it are found from the bundle. */
const ownUrls: Plugin = {
  name: "own-urls",
  setup(given) {
    given.onLoad({ filter: /\/(src|test|engines)\/.*\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      if (!text.includes("import.meta.url")) return undefined;
      const url = JSON.stringify(pathToFileURL(file).href);
      return { contents: text.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname, loader: "ts" },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins: [ownUrls],
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

function save(name: string, code: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  writeFileSync(file, code);
  return file;
}

export async function bundleGroup(group: string): Promise<FuzzBundle> {
  const entry = `export { targets } from "./targets/${group}.ts";\nexport { isRefusal } from "./contract.ts";`;
  const { code, words, counters } = instrument(await bundle(entry));
  return { file: pathToFileURL(save(`${group}.mjs`, code)).href, words, counters };
}

export const bundleWorker = async (): Promise<string> =>
  save("worker.mjs", await bundle(`import "./worker.ts";`));
