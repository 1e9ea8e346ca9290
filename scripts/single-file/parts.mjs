// The parts of a single-file executable besides gpulse: Node for that platform, the native part for it, and the injector. They
// are downloaded by package name into the user's cache; nothing is written into the checkout.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

import { root } from "../bootstrap.mjs";
import { runCommand } from "../command.mjs";
import { PlainError } from "../progress.mjs";

/** The newest LTS that the registry has for both platforms; the images use the same. */
const NODE = "24.21.0";
const POSTJECT = "1.0.0-alpha.6";

/**
 * @typedef {{ node: string, hostNode: string, postject: string, native: { name: string, folder: string }[] }} Parts
 */

/** @param {string} platform as in linux-arm64 @param {string[]} packages */
async function bring(platform, packages) {
  const caches = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  const name = `single-${platform}-${packages.join("_").replaceAll(/[^\w.]+/g, "-")}`;
  const folder = path.join(caches, "gpulse-engines", name);
  if (existsSync(folder)) return folder;
  mkdirSync(path.dirname(folder), { recursive: true });
  const aside = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(path.join(aside, "package.json"), `{"private":true}`);
    const [os, cpu] = platform.split("-");
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    // A package for another platform is rejected unless forced; --os and --cpu select the optional ones.
    const quiet = ["--force", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const { code, output } = await runCommand(
      npm,
      ["install", ...packages, `--os=${os}`, `--cpu=${cpu}`, ...quiet],
      { cwd: aside },
    );
    if (code !== 0)
      throw new PlainError(`npm could not install ${packages.join(" ")}: ${output.trim()}`);
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

/**
 * @param {string} platform
 * @returns {Promise<Parts>}
 */
export async function bringParts(platform) {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const koffi = manifest.optionalDependencies.koffi;
  const host = `${process.platform}-${process.arch}`;
  const nodeFor = (/** @type {string} */ where) => `node-${where}@${NODE}`;

  const [target, tools] = [
    await bring(platform, [nodeFor(platform), `koffi@${koffi}`]),
    await bring(host, [nodeFor(host), `postject@${POSTJECT}`]),
  ];
  const modules = path.join(target, "node_modules");
  return {
    node: path.join(modules, `node-${platform}`, "bin", "node"),
    hostNode: path.join(tools, "node_modules", `node-${host}`, "bin", "node"),
    postject: path.join(tools, "node_modules", "postject", "dist", "cli.js"),
    native: ["koffi", `@koromix/koffi-${platform}`].map((name) => ({
      name,
      folder: path.join(modules, name),
    })),
  };
}
