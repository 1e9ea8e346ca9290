// `npm run release`: everything a release holds in dist/release, with checksums and their signature. Publishes nothing.
// GPULSE_RELEASE_KEY names the key; --unsigned leaves the signature out, and says so in the result.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { ensureBuilt, ensureInstalled, root } from "../bootstrap.mjs";
import { runCommand, runNode, runNpm } from "../command.mjs";
import { PlainError, runMain, say, step } from "../progress.mjs";
import { checkAdvisories, seriousFindings } from "../supply/advisories.mjs";
import { signSums, verifyRelease, writeSums } from "./sign.mjs";

const { values: options } = parseArgs({
  options: {
    unsigned: { type: "boolean", default: false },
    "no-single-file": { type: "boolean", default: false },
  },
});
const folder = path.join(root, "dist", "release");
const key = process.env.GPULSE_RELEASE_KEY ?? "";

/** @param {Promise<{ code: number, output: string }>} running */
async function must(running) {
  const { code, output } = await running;
  if (code !== 0) throw new PlainError(output.trim());
  return output;
}

async function gatherFiles() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await must(runNpm(["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root }));
  for (const name of ["sbom.cdx.json", "THIRD-PARTY-LICENSES.txt"])
    copyFileSync(path.join(root, "dist", "gpulse", name), path.join(folder, name));
  if (options["no-single-file"]) return;
  await must(runNode(path.join(root, "scripts", "single-file", "build.mjs"), []));
  const single = path.join(root, "dist", "single");
  for (const name of readdirSync(single).filter((one) => /^gpulse-.*-(x64|arm64)$/.test(one)))
    copyFileSync(path.join(single, name), path.join(folder, name));
}

/** Which sources it was made of and what was checked. */
async function writeProvenance() {
  const commit = await must(runCommand("git", ["rev-parse", "HEAD"], { cwd: root }));
  const changes = await must(runCommand("git", ["status", "--porcelain"], { cwd: root }));
  const { name, version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const { components } = JSON.parse(readFileSync(path.join(folder, "sbom.cdx.json"), "utf8"));
  const advisories = await checkAdvisories(components);
  const provenance = {
    name,
    version,
    commit: commit.trim(),
    uncommittedChanges: changes.trim() !== "",
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    advisories,
  };
  writeFileSync(path.join(folder, "provenance.json"), `${JSON.stringify(provenance, null, 2)}\n`);
  return provenance;
}

await runMain(async () => {
  if (key === "" && !options.unsigned)
    throw new PlainError(
      "a release is signed: set GPULSE_RELEASE_KEY to the key's file (docs/guides/release.md), or pass --unsigned to build without.",
    );
  await ensureInstalled();
  await ensureBuilt();
  await step("files", gatherFiles);
  const { advisories, uncommittedChanges } = await step("provenance", writeProvenance);
  writeSums(folder);
  if (!options.unsigned) {
    signSums(folder, key);
    verifyRelease(folder, path.join(root, "RELEASE-SIGNERS"));
  }
  say(`advisories: ${advisories.says}`);
  if (uncommittedChanges) say("sources: this checkout has uncommitted changes");
  say(options.unsigned ? "signature: missing (--unsigned)" : "signature: verified");
  say(`release: ${path.relative(root, folder)}`);
  const serious = seriousFindings(advisories);
  if (serious.length > 0)
    throw new PlainError(
      `not to be released: ${serious.map(({ id, name }) => `${name} ${id}`).join(", ")}`,
    );
});
