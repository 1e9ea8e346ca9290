// `node scripts/supply/native.mjs`: writes native.json, the hashes of the native binaries beside the bundle. They are in one
// package per platform, and only this machine's are installed: the others are downloaded, verified against the lock file, and
// hashed. Run it after an update of koffi or DuckDB; a test compares the result with the installed files.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { root } from "../bootstrap.mjs";
import { runCommand } from "../command.mjs";
import { PlainError, runMain, step } from "../progress.mjs";
import { binariesBelow, nativePackages } from "./native-packages.mjs";

/** @param {string} command @param {string[]} args @param {string} cwd */
async function must(command, args, cwd) {
  const { code, output } = await runCommand(command, args, { cwd });
  if (code !== 0) throw new PlainError(`${command} ${args[0]} failed: ${output.trim()}`);
}

/** @param {import("./native-packages.mjs").NativePackage} one */
async function hashesOf({ name, version, integrity }) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-native-"));
  try {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    await must(npm, ["pack", `${name}@${version}`, "--silent"], folder);
    const tarball = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
    const bytes = readFileSync(path.join(folder, tarball));
    const found = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    if (found !== integrity)
      throw new PlainError(`${name}@${version} is not what package-lock.json names: ${found}.`);
    await must("tar", ["-xzf", tarball], folder);
    return binariesBelow(path.join(folder, "package"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await runMain(async () => {
  /** @type {Record<string, { version: string, files: Record<string, string> }>} */
  const hashes = {};
  for (const one of nativePackages())
    hashes[one.name] = {
      version: one.version,
      files: await step(one.name, () => hashesOf(one)),
    };
  writeFileSync(
    path.join(root, "scripts", "supply", "native.json"),
    `${JSON.stringify(hashes, null, 2)}\n`,
  );
});
