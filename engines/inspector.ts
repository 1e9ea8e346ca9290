// The MCP Inspector from npm, in the user's cache for reuse by the next run. It needs Node 22.19 or newer. Must never install
// into the checkout.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { cacheFolder } from "./node24.ts";
import { runProcess } from "./process.ts";

const VERSION = "2.12.0";
const NAME = "@modelcontextprotocol/inspector";
const INSTALL_TIMEOUT_MS = 170_000;

const packageIn = (folder: string): string => path.join(folder, "node_modules", NAME);

/** Returns the path of its program; installs it on first use. */
export async function inspector(): Promise<string> {
  const folder = path.join(cacheFolder(), `inspector-${VERSION}`);
  if (!existsSync(packageIn(folder))) {
    await mkdir(cacheFolder(), { recursive: true });
    const aside = await mkdtemp(path.join(cacheFolder(), "inspector-"));
    try {
      await writeFile(path.join(aside, "package.json"), JSON.stringify({ private: true }));
      const npm = process.platform === "win32" ? "npm.cmd" : "npm";
      const args = ["install", `${NAME}@${VERSION}`, "--no-audit", "--no-fund", "--ignore-scripts"];
      const done = await runProcess(npm, [...args, "--loglevel=error"], {
        cwd: aside,
        timeoutMs: INSTALL_TIMEOUT_MS,
      });
      if (done.code !== 0 || !existsSync(packageIn(aside)))
        throw new Error(`npm could not install ${NAME}: ${done.stderr.trim()}`);
      await rm(folder, { recursive: true, force: true });
      await rename(aside, folder);
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  }
  const manifest = await readFile(path.join(packageIn(folder), "package.json"), "utf8");
  const { bin } = JSON.parse(manifest) as { bin: Readonly<Record<string, string>> };
  const [program] = Object.values(bin);
  if (program === undefined) throw new Error(`${NAME} has no program`);
  return path.join(packageIn(folder), program);
}
