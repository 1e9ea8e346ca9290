// `npm run single-file [-- linux-arm64 …]`: gpulse and Node in one executable per platform, as a Node single executable
// application. Node's binaries and the injector are downloaded from the npm registry and stored outside the checkout.

import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

import { ensureBuilt, ensureInstalled, root } from "../bootstrap.mjs";
import { runCommand } from "../command.mjs";
import { PlainError, runMain, say, step } from "../progress.mjs";
import { bringParts } from "./parts.mjs";

const PLATFORMS = ["linux-x64", "linux-arm64"];
/** Node's marker for the position of the embedded program, which the injector looks for. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const dist = path.join(root, "dist", "single");

/**
 * Every file below a folder, with its path in the program's own folder.
 * @param {string} from @param {string} to @returns {[string, string][]}
 */
function filesBelow(from, to) {
  return readdirSync(from, { withFileTypes: true }).flatMap((entry) => {
    const [file, target] = [path.join(from, entry.name), `${to}/${entry.name}`];
    return entry.isDirectory() ? filesBelow(file, target) : [[target, file]];
  });
}

/**
 * The content of the npm package, and the one native part needed to read NVIDIA cards.
 * @param {import("./parts.mjs").Parts} parts
 * @returns {Record<string, string>}
 */
function payload(parts) {
  const left = /(\.map|inputs\.json|LEGAL\.txt)$|^dist\/(\.|lambda|single)/;
  const own = ["bin", "dist/agent", "dist/gpulse", "dist/web"].flatMap((folder) =>
    filesBelow(path.join(root, folder), folder),
  );
  const native = parts.native.flatMap(({ name, folder }) =>
    filesBelow(folder, `node_modules/${name}`).filter(
      ([target]) => /\.(c?js|node|json)$/.test(target) && !/\/(doc|vendor)\//.test(target),
    ),
  );
  return Object.fromEntries([
    ["package.json", path.join(root, "package.json")],
    ...own.filter(([target]) => !left.test(target)),
    ...native,
  ]);
}

/** @param {string} command @param {string[]} args */
async function must(command, args) {
  const { code, output } = await runCommand(command, args, { cwd: root });
  if (code !== 0) throw new PlainError(`${path.basename(command)} failed: ${output.trim()}`);
}

/** Node starts such a file only from CommonJS. @param {string} work */
async function bootScript(work) {
  const { build } = await import("esbuild");
  const outfile = path.join(work, "boot.cjs");
  await build({
    entryPoints: [path.join(root, "scripts", "single-file", "boot.mjs")],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    logLevel: "silent",
  });
  return outfile;
}

/** @param {string} platform */
async function buildFor(platform) {
  const parts = await bringParts(platform);
  const work = path.join(dist, `.${platform}`);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    const files = payload(parts);
    const names = Object.keys(files).sort();
    const hash = createHash("sha256");
    for (const name of names) hash.update(`${name}\0`).update(readFileSync(files[name] ?? ""));
    const index = {
      version: manifest.version,
      hash: hash.digest("hex").slice(0, 12),
      files: names,
    };
    writeFileSync(path.join(work, "index.json"), JSON.stringify(index));
    const config = {
      main: await bootScript(work),
      output: path.join(work, "program.blob"),
      disableExperimentalSEAWarning: true,
      // Both would tie the blob to the build machine.
      useSnapshot: false,
      useCodeCache: false,
      assets: { ...files, "index.json": path.join(work, "index.json") },
    };
    writeFileSync(path.join(work, "config.json"), JSON.stringify(config));
    await must(parts.hostNode, ["--experimental-sea-config", path.join(work, "config.json")]);
    const program = path.join(work, "gpulse");
    cpSync(parts.node, program);
    await must(process.execPath, [
      parts.postject,
      program,
      "NODE_SEA_BLOB",
      config.output,
      "--sentinel-fuse",
      FUSE,
    ]);
    chmodSync(program, 0o755);
    const file = path.join(dist, `gpulse-${manifest.version}-${platform}`);
    cpSync(program, file);
    const bytes = readFileSync(file);
    const sum = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(`${file}.sha256`, `${sum}  ${path.basename(file)}\n`);
    return `${path.relative(root, file)} (${Math.round(bytes.length / 1e6)} MB)`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await runMain(async () => {
  const asked = process.argv.slice(2);
  for (const name of asked)
    if (!PLATFORMS.includes(name))
      throw new PlainError(
        `there is no "${name}": choose from ${PLATFORMS.join(", ")}, or name none for all.`,
      );
  await ensureInstalled();
  await ensureBuilt();
  for (const platform of asked.length > 0 ? asked : PLATFORMS)
    say(await step(`single file for ${platform}`, () => buildFor(platform)));
});
