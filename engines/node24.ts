// Node 24 from npm's `node` package, in the user's cache for reuse by the next run. Must never install into the checkout.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

import { runProcess } from "./process.ts";

const MAJOR = 24;
const INSTALL_TIMEOUT_MS = 170_000;

export function cacheFolder(): string {
  const caches = process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache");
  return path.join(caches, "gpulse-engines");
}

function binaryIn(folder: string): string {
  const file = process.platform === "win32" ? "node.exe" : "node";
  return path.join(folder, "node_modules", "node", "bin", file);
}

/** Returns the path of a Node 24 binary; installs it on first use. */
export async function node24(): Promise<string> {
  const folder = path.join(cacheFolder(), `node${MAJOR}`);
  if (existsSync(binaryIn(folder))) return binaryIn(folder);
  await mkdir(cacheFolder(), { recursive: true });
  const aside = await mkdtemp(path.join(cacheFolder(), `node${MAJOR}-`));
  try {
    const manifest = { private: true, allowScripts: { node: true } };
    await writeFile(path.join(aside, "package.json"), JSON.stringify(manifest));
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const args = ["install", `node@${MAJOR}`, "--no-audit", "--no-fund", "--loglevel=error"];
    const done = await runProcess(npm, args, { cwd: aside, timeoutMs: INSTALL_TIMEOUT_MS });
    if (done.code !== 0 || !existsSync(binaryIn(aside))) {
      throw new Error(`npm could not install node@${MAJOR}: ${done.stderr.trim()}`);
    }
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return binaryIn(folder);
}
