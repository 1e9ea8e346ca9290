// Writes build.json beside each bundle: the commit it was built from. Run as a program it refreshes the file of an existing
// build, so that a package made after a commit names that commit even if no source changed.

import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** @param {string} cwd @param {string[]} args */
function git(cwd, args) {
  const { status, stdout } = spawnSync("git", args, { cwd, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * Seven digits, so that equal commits give equal bytes, plus `-dirty` if there are uncommitted changes. GPULSE_COMMIT sets the
 * commit of a copy without .git, such as the one an image is built from.
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 */
export function currentCommit(folder, env) {
  const given = env.GPULSE_COMMIT ?? "";
  if (given !== "") return given;
  // A copy inside another repository must not report that repository's commit.
  const head = existsSync(path.join(folder, ".git"))
    ? git(folder, ["rev-parse", "HEAD"])
    : undefined;
  if (head === undefined) return "unknown";
  return `${head.slice(0, 7)}${git(folder, ["status", "--porcelain"]) === "" ? "" : "-dirty"}`;
}

/** @param {string} dist the folder that holds the bundles */
export function writeBuildInfo(dist) {
  const text = `${JSON.stringify({ commit: currentCommit(root, process.env) })}\n`;
  for (const name of ["gpulse", "agent"]) writeFileSync(path.join(dist, name, "build.json"), text);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  writeBuildInfo(path.join(root, "dist"));
