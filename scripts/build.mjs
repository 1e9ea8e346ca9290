// Builds dist/: the agent and the whole program as two separate bundles, the Lambda function, the man pages and the browser app.
// Everything is built in a temporary folder first; a failed build must never touch the working one.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { ensureInstalled, lockFile, root } from "./bootstrap.mjs";
import { writeBuildInfo } from "./build-info.mjs";
import { bundleInputs } from "./bundle-inputs.mjs";
import { toCommonJs } from "./commonjs.mjs";
import { fingerprint, isBuildFresh, writeStamp } from "./fingerprint.mjs";
import { withLock } from "./lock.mjs";
import { packagePatches } from "./package-patches.mjs";
import { PlainError, runMain } from "./progress.mjs";
import { writeSupply } from "./supply/write.mjs";

const dist = path.join(root, "dist");
const aside = path.join(dist, ".next");
/** Worker threads are built beside each executable that starts them; the code finds them there by name. */
const NVIDIA_WORKER = { "nvidia-worker": "src/sources/nvidia/worker.ts" };
const CHECK_WORKER = { "check-worker": "src/sources/nvidia/check/worker.ts" };
const STORE_WORKER = { "store-worker": "src/storage/embedded/blocks/worker.ts" };
const QUERY_WORKER = { "query-worker": "src/storage/embedded/offload/worker.ts" };
const LAKE_WORKER = { "lake-worker": "src/lake/thread.ts" };
const DECODE_WORKER = { "decode-worker": "src/hub/receive/decode/thread.ts" };
const BUNDLES = [
  {
    name: "gpulse",
    entry: "src/cli/main.ts",
    workers: {
      ...NVIDIA_WORKER,
      ...CHECK_WORKER,
      ...STORE_WORKER,
      ...QUERY_WORKER,
      ...LAKE_WORKER,
      ...DECODE_WORKER,
    },
  },
  { name: "agent", entry: "src/agent/main.ts", workers: NVIDIA_WORKER },
];

// Bundled CommonJS packages load Node's own modules with require(), which an ES module does not have.
const BANNER = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

/** @param {{ name: string, entry: string, workers: Record<string, string> }} bundle */
async function bundle({ name, entry, workers }) {
  const { build } = await import("esbuild");
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const outdir = path.join(aside, name);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: entry, ...workers },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // Beside the entry, so that a path relative to import.meta.url is the same in every chunk.
    chunkNames: "[name]-[hash]",
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    legalComments: "linked",
    metafile: true,
    logLevel: "silent",
    // Native parts cannot be bundled: they are the optional dependencies, and the code works without them.
    external: Object.keys(manifest.optionalDependencies ?? {}),
    alias: {
      // The same code with its WebAssembly inlined: a bundle has no file beside it to read.
      "@platformatic/wasm-utils": "@platformatic/wasm-utils/bundled",
      "ajv/dist/2020.js": path.join(root, "scripts/deferred-ajv.cjs"),
    },
    define: { __GPULSE_VERSION__: JSON.stringify(manifest.version) },
    plugins: [packagePatches],
  });
  writeFileSync(
    path.join(outdir, "inputs.json"),
    `${JSON.stringify(bundleInputs(metafile, entry), null, 2)}\n`,
  );
  await toCommonJs(
    outdir,
    ["main", ...Object.keys(workers)].map((one) => `${one}.js`),
  );
}

/** The Lambda function: one file that is uploaded unchanged, with nothing native and no other files. */
async function bundleLambda() {
  const { build } = await import("esbuild");
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const entry = "src/cli/lambda/main.ts";
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: path.join(aside, "lambda", "index.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "linked",
    metafile: true,
    logLevel: "silent",
    banner: { js: BANNER },
    define: { __GPULSE_VERSION__: JSON.stringify(manifest.version) },
  });
  writeFileSync(
    path.join(aside, "lambda", "inputs.json"),
    `${JSON.stringify(bundleInputs(metafile, entry), null, 2)}\n`,
  );
}

/**
 * Reports an error in a source file in the bundler's format, without the bundler's own stack trace.
 * @param {unknown} failure
 * @returns {Promise<never>}
 */
async function explain(failure) {
  if (!(failure instanceof Error) || !("errors" in failure)) throw failure;
  const { formatMessages } = await import("esbuild");
  const errors = /** @type {import("esbuild").Message[]} */ (failure.errors);
  throw new PlainError((await formatMessages(errors, { kind: "error" })).join("").trim());
}

/** Copies the default rules and their runbook as plain files; src/alerting/pack reads them there. */
function copyPack() {
  const rules = path.join(root, "deploy/prometheus/rules");
  const pack = path.join(aside, "gpulse", "pack");
  for (const name of readdirSync(rules).filter((file) => file.endsWith(".yml")))
    cpSync(path.join(rules, name), path.join(pack, "rules", name));
  cpSync(path.join(root, "docs/runbook/README.md"), path.join(pack, "runbook.md"));
  cpSync(path.join(root, "docs/runbook/stack.md"), path.join(pack, "runbook-stack.md"));
}

/** Copies the pages that MCP clients may read; src/hub/mcp reads them there. */
function copyDocs() {
  const pages = JSON.parse(readFileSync(path.join(root, "src/hub/mcp/docs.json"), "utf8"));
  for (const { file } of pages)
    cpSync(path.join(root, "docs", file), path.join(aside, "gpulse", "pack", "docs", file));
}

/** Copies the analyses' SQL as plain files; src/lake/analyses reads them there. */
function copyAnalyses() {
  cpSync(path.join(root, "src/lake/analyses/sql"), path.join(aside, "gpulse", "analyses"), {
    recursive: true,
  });
}

/**
 * Writes the man pages from the same declarations as `--help`; dated by the changelog, so that the same checkout gives the same
 * bytes.
 */
async function writeMan() {
  const { tsImport } = await import("tsx/esm/api");
  /** @type {typeof import("./reference/man.ts")} */
  const { writeManPages } = await tsImport("./reference/man.ts", import.meta.url);
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  // An image is built without the changelog and without man pages.
  const file = path.join(root, "CHANGELOG.md");
  const changelog = existsSync(file) ? readFileSync(file, "utf8") : "";
  writeManPages(path.join(aside, "man"), version, changelog);
}

/**
 * Puts a `.br` and a `.gz` beside each file; the hub serves them to browsers that support them.
 * @param {string} folder
 */
function compressFiles(folder) {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const content = readFileSync(file);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
}

/** Builds the browser app and returns its source files, relative to the checkout's root. */
async function bundleWeb() {
  const web = path.join(root, "web");
  const { build } = await import("vite");
  const built = await build({
    root: web,
    configFile: path.join(web, "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: path.join(aside, "web"), emptyOutDir: true },
  });
  compressFiles(path.join(aside, "web", "assets"));
  const outputs = [built].flat().flatMap((one) => ("output" in one ? one.output : []));
  return outputs
    .flatMap((one) => (one.type === "chunk" ? Object.keys(one.modules) : []))
    .filter((file) => path.isAbsolute(file))
    .map((file) => path.relative(root, file));
}

/** @param {string} name */
function inputsOf(name) {
  const inputs = JSON.parse(readFileSync(path.join(aside, name, "inputs.json"), "utf8"));
  return [...inputs.static, ...inputs.lazy];
}

/** Moves the finished folders into place; there is no stamp until the end, so that an interrupted swap is built again. */
function swap() {
  rmSync(path.join(dist, ".stamp.json"), { force: true });
  for (const name of [...BUNDLES.map((one) => one.name), "lambda", "man", "web"]) {
    const [fresh, current, old] = [
      path.join(aside, name),
      path.join(dist, name),
      path.join(dist, `.old-${name}`),
    ];
    rmSync(old, { recursive: true, force: true });
    try {
      if (existsSync(current)) renameSync(current, old);
    } catch (error) {
      throw new PlainError(
        `cannot replace ${current}: stop the gpulse that runs from it (${String(error)}).`,
      );
    }
    if (existsSync(fresh)) renameSync(fresh, current);
    rmSync(old, { recursive: true, force: true });
  }
}

async function buildAll() {
  const print = fingerprint(root);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  try {
    for (const one of BUNDLES) await bundle(one).catch(explain);
    await bundleLambda().catch(explain);
    copyPack();
    copyDocs();
    copyAnalyses();
    writeBuildInfo(aside);
    await writeMan();
    const web = await bundleWeb();
    const parts = [...BUNDLES.map((one) => one.name), "lambda"];
    writeSupply(path.join(aside, "gpulse"), {
      ...Object.fromEntries(parts.map((name) => [name, inputsOf(name)])),
      web,
    });
    swap();
    writeStamp(root, print);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

await runMain(async () => {
  if (process.argv.includes("--if-stale") && isBuildFresh(root)) return;
  // package-lock.json may have changed together with the sources.
  await ensureInstalled();
  await withLock(lockFile, async () => {
    if (process.argv.includes("--if-stale") && isBuildFresh(root)) return;
    await buildAll();
  });
});
