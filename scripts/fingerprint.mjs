// Checks whether the build in dist/ is up to date with the sources beside it. The quick check compares path, size and time of
// every source; contents are read only if that differs, so that a fresh checkout of the same sources is not built again.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

const SOURCES = [
  "src",
  "web",
  "deploy/prometheus/rules",
  "docs/guides",
  "docs/reference/metrics.md",
  "docs/reference/xids.md",
  "docs/runbook",
  "scripts/build.mjs",
  "scripts/bundle-inputs.mjs",
  "scripts/reference/man.ts",
  "scripts/commonjs.mjs",
  "scripts/package-patches.mjs",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "testdata"]);
const SKIPPED_FILE = /\.test\.tsx?$/;

/** @typedef {{ quick: string, content: string }} Fingerprint */

/** @param {string} root @returns {string[]} paths with forward slashes, sorted */
function sourceFiles(root) {
  /** @type {string[]} */
  const files = [];
  /** @param {string} relative */
  const visit = (relative) => {
    const stat = statSync(path.join(root, relative), { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isDirectory()) {
      files.push(relative);
      return;
    }
    for (const entry of readdirSync(path.join(root, relative), { withFileTypes: true })) {
      if (entry.isDirectory() ? SKIPPED_FOLDERS.has(entry.name) : SKIPPED_FILE.test(entry.name))
        continue;
      if (entry.isDirectory()) visit(`${relative}/${entry.name}`);
      else files.push(`${relative}/${entry.name}`);
    }
  };
  for (const source of SOURCES) visit(source);
  return files.sort();
}

/** @param {string} root @param {string[]} files */
function quickHash(root, files) {
  const hash = createHash("sha256");
  for (const file of files) {
    const stat = statSync(path.join(root, file), { throwIfNoEntry: false });
    hash.update(`${file}\0${stat?.size}\0${stat?.mtimeMs}\n`);
  }
  return hash.digest("hex");
}

/** @param {string} root @param {string[]} files */
function contentHash(root, files) {
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(root, file)))
      .update("\0");
  return hash.digest("hex");
}

/** @param {string} root @returns {Fingerprint} */
export function fingerprint(root) {
  const files = sourceFiles(root);
  return { quick: quickHash(root, files), content: contentHash(root, files) };
}

/** @param {string} root */
function stampFile(root) {
  return path.join(root, "dist", ".stamp.json");
}

/** @param {string} root @param {Fingerprint} print */
export function writeStamp(root, print) {
  writeFileSync(stampFile(root), JSON.stringify(print));
}

/** @param {string} root @returns {Fingerprint | undefined} */
function readStamp(root) {
  try {
    return JSON.parse(readFileSync(stampFile(root), "utf8"));
  } catch {
    return undefined;
  }
}

/** @param {string} root */
export function isBuildFresh(root) {
  const stamp = readStamp(root);
  if (stamp === undefined) return false;
  const files = sourceFiles(root);
  const quick = quickHash(root, files);
  if (quick === stamp.quick) return true;
  if (contentHash(root, files) !== stamp.content) return false;
  try {
    writeStamp(root, { ...stamp, quick });
  } catch {
    // A read-only checkout only loses the quick check.
  }
  return true;
}
