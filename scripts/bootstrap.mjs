// Brings a checkout from any state to a runnable one: installs packages and builds, each only if missing or stale. Plain Node
// without dependencies, since it runs before any are installed. Must never write to stdout.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { runNode, runNpm } from "./command.mjs";
import { isBuildFresh } from "./fingerprint.mjs";
import { withLock } from "./lock.mjs";
import { PlainError, runMain, step } from "./progress.mjs";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const lockFile = path.join(root, "dist", ".bootstrap.lock");

/** @param {string} relative @returns {any} */
function readJson(relative) {
  return JSON.parse(readFileSync(path.join(root, relative), "utf8"));
}

/** Throws one sentence if this Node is older than package.json requires. */
export function checkNode(version = process.versions.node) {
  const wanted = /** @type {string} */ (readJson("package.json").engines.node).replace(/^>=/, "");
  const [have, need] = [version, wanted].map((text) => text.split(".").map(Number));
  for (let index = 0; index < 3; index++) {
    const [a, b] = [have?.[index] ?? 0, need?.[index] ?? 0];
    if (a > b) return;
    if (a < b) {
      throw new PlainError(
        `this is Node ${version}, and gpulse needs ${wanted} or newer: install it from nodejs.org.`,
      );
    }
  }
}

/**
 * npm records what it installed in node_modules/.package-lock.json as its last step, whichever command ran it; comparing that
 * record with package-lock.json is reliable, also after a manual `npm install` or an interrupted one.
 */
function isInstalled() {
  /** @type {Record<string, any>} */
  let installed;
  try {
    installed = readJson("node_modules/.package-lock.json").packages;
  } catch {
    return false;
  }
  /** @type {Record<string, any>} */
  const locked = readJson("package-lock.json").packages;
  for (const [folder, wanted] of Object.entries(locked)) {
    if (!folder.includes("node_modules/") || wanted.link === true) continue;
    const found = installed[folder];
    if (found === undefined) {
      if (wanted.optional !== true && wanted.os === undefined && wanted.cpu === undefined)
        return false;
    } else if (found.version !== wanted.version || found.integrity !== wanted.integrity)
      return false;
  }
  return ["", "web"].every((folder) => {
    const declared = readJson(path.join(folder, "package.json"));
    return ["dependencies", "devDependencies", "optionalDependencies"].every(
      (kind) =>
        JSON.stringify(declared[kind] ?? {}) === JSON.stringify(locked[folder]?.[kind] ?? {}),
    );
  });
}

/** @param {string} output */
function npmReason(output) {
  const lines = output
    .split("\n")
    .map((line) => line.replace(/^npm (error|ERR!)\s*/, "").trim())
    .filter(
      (line) =>
        line !== "" && !/^(code|errno|syscall|npm warn|A complete log|.*debug-0\.log)/i.test(line),
    );
  return lines.slice(0, 3).join(" ") || "npm gave no reason";
}

/** Installs the packages of package-lock.json, unless exactly those are installed. */
export async function ensureInstalled() {
  checkNode();
  if (isInstalled()) return;
  await withLock(lockFile, async () => {
    if (isInstalled()) return;
    await step("installing packages", async () => {
      // All packages are development dependencies, so NODE_ENV=production must not omit them.
      const args = ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
      const { code, output } = await runNpm(args, { cwd: root });
      if (code !== 0) {
        throw new PlainError(`npm ci failed (exit code ${code}): ${npmReason(output)}`);
      }
    });
  });
}

/** Builds dist/ if it is missing or older than its sources; requires installed packages. */
export async function ensureBuilt() {
  if (isBuildFresh(root)) return;
  await step("building gpulse", async () => {
    // In a separate process: the bundler's memory must not stay in a server that starts right after.
    const { code, output } = await runNode(
      path.join(root, "scripts", "build.mjs"),
      ["--if-stale"],
      { cwd: root },
    );
    if (code !== 0)
      throw new PlainError(`the build failed: ${output.trim().replace(/^gpulse: /, "")}`);
  });
}

export async function bootstrap() {
  checkNode();
  if (isBuildFresh(root)) return;
  await ensureInstalled();
  await ensureBuilt();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runMain(bootstrap);
