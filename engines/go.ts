// Builds programs from the Go modules under engines/go into the user's cache. A missing or old Go is a reason to skip: no Debian
// package is new enough.

import { readdirSync, readFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { EngineMissingError, installOnce, installWith, isInstalled } from "./cache.ts";
import { runProcess } from "./process.ts";

/** The version required by the go.mod files of Kubernetes and Helm. */
const OLDEST_GO = [1, 26] as const;
const PLACES = ["go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go"];
const FLAGS = ["-buildvcs=false"];
const LINKER_FLAGS = "-s -w";
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** The path of this machine's `go`. */
async function findGo(): Promise<string> {
  const old: string[] = [];
  for (const place of PLACES) {
    const asked = await runProcess(place, ["env", "GOVERSION"]).catch(() => undefined);
    const version = /^go(\d+)\.(\d+)/.exec(asked?.stdout ?? "");
    if (version === null) continue;
    const [major, minor] = [Number(version[1]), Number(version[2])];
    if (major > OLDEST_GO[0] || (major === OLDEST_GO[0] && minor >= OLDEST_GO[1])) return place;
    old.push(version[0]);
  }
  const found = old.length === 0 ? "there is none" : `this is ${old.join(", ")}`;
  throw new EngineMissingError(
    `needs Go ${OLDEST_GO.join(".")} or newer, and ${found}: see go.dev/dl`,
  );
}

export interface GoBuildOptions {
  /** Programs of required modules to build along with it: they share the slowest compilations. */
  readonly beside?: readonly string[];
  /** Build tags. */
  readonly tags?: readonly string[];
  /** Values for string variables, in the form of the linker's `-X`: `path/to/package.name=value`. */
  readonly variables?: readonly string[];
  /** For builds that are too slow for a test: without the built programs, EngineMissingError is thrown with this sentence. */
  readonly cachedOnly?: string;
  readonly timeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the folder with the programs of engines/go/NAME (its own, if it has one), in the versions of its go.sum. */
export async function goBuilt(name: string, options: GoBuildOptions = {}): Promise<string> {
  const { beside = [], tags = [], variables = [], cachedOnly, timeoutMs, env = {} } = options;
  const source = sourceOf(name);
  const files = readdirSync(source).sort();
  const recipe = [textOf(source), ...beside, ...tags, ...variables].join("\n");
  if (cachedOnly !== undefined && !isInstalled(name, recipe))
    throw new EngineMissingError(cachedOnly);
  const own = files.some((file) => file.endsWith(".go")) ? ["."] : [];
  const install = async (aside: string): Promise<void> => {
    const linker = [LINKER_FLAGS, ...variables.map((one) => `-X ${one}`)].join(" ");
    const flags = [...FLAGS, `-ldflags=${linker}`];
    if (tags.length > 0) flags.push(`-tags=${tags.join(",")}`);
    const args = ["build", "-C", source, ...flags, "-o", `${aside}/`, ...own, ...beside];
    await installWith(await findGo(), args, env, timeoutMs);
  };
  return installOnce(name, recipe, install, timeoutMs);
}

function sourceOf(name: string): string {
  return fileURLToPath(new URL(`./go/${name}`, import.meta.url));
}

function textOf(source: string): string {
  const files = readdirSync(source).sort();
  return files
    .map((file) => `${file}\n${readFileSync(path.join(source, file), "utf8")}`)
    .join("\n");
}

/** Files of a module that engines/go/NAME requires, such as its custom resource definitions. */
export interface GoModuleFiles {
  readonly module: string;
  /** Paths in the module; the returned folder has the files by their base name. */
  readonly files: readonly string[];
  /** As for a build: without the cached files, EngineMissingError is thrown with this sentence. */
  readonly cachedOnly?: string | undefined;
}

export async function goModuleFiles(
  name: string,
  { module, files, cachedOnly }: GoModuleFiles,
): Promise<string> {
  const source = sourceOf(name);
  const recipe = [textOf(source), module, ...files].join("\n");
  const cacheName = `${name}-files`;
  if (cachedOnly !== undefined && !isInstalled(cacheName, recipe))
    throw new EngineMissingError(cachedOnly);
  return installOnce(cacheName, recipe, async (aside) => {
    const args = ["mod", "download", "-C", source, "-json", module];
    const got = await runProcess(await findGo(), args, { timeoutMs: DOWNLOAD_TIMEOUT_MS });
    if (got.code !== 0) throw new Error(`go ${args.join(" ")}: ${got.stderr || got.stdout}`);
    const { Dir: folder } = JSON.parse(got.stdout) as { Dir: string };
    for (const file of files)
      await copyFile(path.join(folder, file), path.join(aside, path.basename(file)));
  });
}
