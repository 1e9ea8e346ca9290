// Determines which packages are in the shipped artifacts: from the bundlers' own lists of files, never from package.json.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { root } from "../bootstrap.mjs";

/**
 * @typedef {{ name: string, version: string, license: string, folder: string, integrity: string | undefined, parts: string[] }} Package
 */

/** The folder of the package that contains a file, relative to the checkout's root. @param {string} file */
export function packageFolder(file) {
  const at = file.replaceAll(path.sep, "/").lastIndexOf("node_modules/");
  if (at === -1) return undefined;
  const [scope = "", name = ""] = file.slice(at + "node_modules/".length).split("/");
  const start = file.slice(Math.max(0, file.indexOf("node_modules/")), at);
  return `${start}node_modules/${scope.startsWith("@") ? `${scope}/${name}` : scope}`;
}

/**
 * @param {Record<string, readonly string[]>} filesByPart the files of every shipped part: agent, gpulse, web, …
 * @returns {Package[]}
 */
export function shippedPackages(filesByPart) {
  const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")).packages;
  /** @type {Map<string, Set<string>>} */
  const parts = new Map();
  for (const [part, files] of Object.entries(filesByPart))
    for (const file of files) {
      const folder = packageFolder(file);
      if (folder !== undefined) parts.set(folder, (parts.get(folder) ?? new Set()).add(part));
    }
  return [...parts]
    .map(([folder, found]) => {
      const manifest = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
      const locked = lock[folder];
      if (locked === undefined) throw new Error(`BUG: ${folder} is in no lock file`);
      return {
        name: String(manifest.name),
        version: String(locked.version),
        license: String(locked.license ?? manifest.license ?? "unknown"),
        folder,
        integrity: locked.integrity,
        parts: [...found].sort(),
      };
    })
    .sort((a, b) => (a.name + a.version < b.name + b.version ? -1 : 1));
}

/** The licence text in a package. @param {Package} one */
export function licenseText({ folder }) {
  const names = readdirSync(path.join(root, folder)).filter((name) =>
    /^(licen[cs]e|copying|notice)([.-]|$)/i.test(name),
  );
  return names
    .sort()
    .map((name) => path.join(root, folder, name))
    .filter((file) => existsSync(file) && !file.endsWith(".js"))
    .map((file) => readFileSync(file, "utf8").replaceAll("\r\n", "\n").trim())
    .join("\n\n");
}
