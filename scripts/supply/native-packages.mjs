// The packages installed beside the bundle because they cannot be bundled: koffi and DuckDB, with a native part per platform.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { root } from "../bootstrap.mjs";

/**
 * @typedef {{ name: string, version: string, license: string, integrity: string | undefined }} BesidePackage
 * @typedef {BesidePackage & { integrity: string, platform: string }} NativePackage
 */

const lockPackages = () =>
  JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")).packages;

/**
 * The optional dependencies and all of their dependencies, for every platform.
 * @returns {(BesidePackage & { platform?: string })[]}
 */
export function besidePackages() {
  const lock = lockPackages();
  const queue = Object.keys(lock[""].optionalDependencies);
  /** @type {Map<string, BesidePackage & { platform?: string }>} */
  const found = new Map();
  for (const name of queue) {
    const locked = lock[`node_modules/${name}`];
    if (locked === undefined) throw new Error(`BUG: ${name} is in no lock file`);
    if (found.has(name)) continue;
    const { version, license = "unknown", integrity, os, cpu, libc = [] } = locked;
    const platform = os === undefined ? {} : { platform: [...os, ...cpu, ...libc].join("-") };
    found.set(name, { name, version, license, integrity, ...platform });
    queue.push(...Object.keys({ ...locked.dependencies, ...locked.optionalDependencies }));
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @returns {NativePackage[]} */
export function nativePackages() {
  return besidePackages().flatMap((one) => {
    const { platform, integrity } = one;
    return platform === undefined || integrity === undefined
      ? []
      : [{ ...one, platform, integrity }];
  });
}

/**
 * SHA-256 of every native binary of a package, by its path in the package.
 * @param {string} folder @returns {Record<string, string>}
 */
export function binariesBelow(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(node|so|dylib|dll)(\.\d+)*$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
  return Object.fromEntries(
    files.map((file) => [
      path.relative(folder, file).replaceAll(path.sep, "/"),
      createHash("sha256").update(readFileSync(file)).digest("hex"),
    ]),
  );
}
