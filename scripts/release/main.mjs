// `npm run release`: creates all files of a release in dist/release, with checksums and their signature. Publishes nothing.
// GPULSE_RELEASE_KEY is the key; --dry-run creates the same files unsigned and lists what would be published.

import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { ensureBuilt, ensureInstalled, root } from "../bootstrap.mjs";
import { currentCommit } from "../build-info.mjs";
import { runCommand, runNode, runNpm } from "../command.mjs";
import { buildSite } from "../docs-site/build.mjs";
import { PlainError, runMain, say, seconds, step } from "../progress.mjs";
import { checkAdvisories, seriousFindings } from "../supply/advisories.mjs";
import { packChart, packImageContext, releaseNotes } from "./parts.mjs";
import { signSums, verifyRelease, writeSums } from "./sign.mjs";

const { values: options } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    unsigned: { type: "boolean", default: false },
    "no-single-file": { type: "boolean", default: false },
  },
});
const folder = path.join(root, "dist", "release");
const key = process.env.GPULSE_RELEASE_KEY ?? "";
const unsigned = options.unsigned || options["dry-run"];
/** @type {{ name: string, version: string }} */
const { name: packageName, version } = JSON.parse(
  readFileSync(path.join(root, "package.json"), "utf8"),
);

/** @param {Promise<{ code: number, output: string }>} running */
async function must(running) {
  const { code, output } = await running;
  if (code !== 0) throw new PlainError(output.trim());
  return output;
}

async function packNpm() {
  await must(runNpm(["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root }));
  for (const name of ["sbom.cdx.json", "THIRD-PARTY-LICENSES.txt"])
    copyFileSync(path.join(root, "dist", "gpulse", name), path.join(folder, name));
}

async function buildSingleFiles() {
  await must(runNode(path.join(root, "scripts", "single-file", "build.mjs"), []));
  const single = path.join(root, "dist", "single");
  const current = new RegExp(`^gpulse-${version.replaceAll(".", "\\.")}-.*-(x64|arm64)$`);
  for (const name of readdirSync(single).filter((one) => current.test(one)))
    copyFileSync(path.join(single, name), path.join(folder, name));
}

/** The npm package is gpulse-VERSION.tgz, which is also Helm's name for the chart, so the chart's file is renamed. */
async function packDeployments() {
  const tracked = await must(runCommand("git", ["ls-files", "-z"], { cwd: root }));
  const names = tracked.split("\0").filter((name) => name !== "");
  const context = packImageContext(root, names, currentCommit(root, process.env));
  writeFileSync(path.join(folder, `gpulse-${version}-image-context.tar.gz`), context);
  writeFileSync(path.join(folder, `gpulse-chart-${version}.tgz`), packChart(root));
}

/** Runs first and fails if the changelog has no section: a release takes minutes to build. */
function writeNotes() {
  rmSync(folder, { recursive: true, force: true });
  const notes = releaseNotes(readFileSync(path.join(root, "CHANGELOG.md"), "utf8"), version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "RELEASE-NOTES.md"), notes);
}

function listFiles() {
  const names = readdirSync(folder).sort();
  const width = Math.max(...names.map((name) => name.length));
  for (const name of names) {
    const bytes = statSync(path.join(folder, name)).size;
    const size = bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
    say(`  ${name.padEnd(width)}  ${size.padStart(9)}`);
  }
}

/** Writes the sources it was built from and the checks that ran. */
async function writeProvenance() {
  const commit = await must(runCommand("git", ["rev-parse", "HEAD"], { cwd: root }));
  const changes = await must(runCommand("git", ["status", "--porcelain"], { cwd: root }));
  const { components } = JSON.parse(readFileSync(path.join(folder, "sbom.cdx.json"), "utf8"));
  const advisories = await checkAdvisories(components);
  const provenance = {
    name: packageName,
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
  const startedMs = performance.now();
  if (key === "" && !unsigned)
    throw new PlainError(
      "a release is signed: set GPULSE_RELEASE_KEY to the key's file (docs/guides/release.md), or pass --dry-run to make everything without a signature.",
    );
  await ensureInstalled();
  await ensureBuilt();
  writeNotes();
  await buildSite();
  await step("npm package", packNpm);
  if (!options["no-single-file"]) await step("single-file programs", buildSingleFiles);
  await step("chart and image context", packDeployments);
  const { advisories, uncommittedChanges } = await step("provenance", writeProvenance);
  writeSums(folder);
  if (!unsigned) {
    signSums(folder, key);
    verifyRelease(folder, path.join(root, "RELEASE-SIGNERS"));
  }
  say(`advisories: ${advisories.says}`);
  if (uncommittedChanges) say("sources: this checkout has uncommitted changes");
  say(unsigned ? "signature: missing (--dry-run or --unsigned)" : "signature: verified");
  say(`${options["dry-run"] ? "would publish" : "release"}: ${path.relative(root, folder)}`);
  listFiles();
  say(`time: ${seconds(performance.now() - startedMs)}`);
  const serious = seriousFindings(advisories);
  if (serious.length > 0)
    throw new PlainError(
      `not to be released: ${serious.map(({ id, name }) => `${name} ${id}`).join(", ")}`,
    );
});
