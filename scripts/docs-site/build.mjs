// `npm run docs:site`: the documentation as a static site in dist/docs, which the hub serves under /docs. VitePress and its
// packages are installed on first use into the user's cache; nothing else in gpulse needs them.

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

import { checkNode, root } from "../bootstrap.mjs";
import { runNode, runNpm } from "../command.mjs";
import { withLock } from "../lock.mjs";
import { PlainError, runMain, say, seconds, step } from "../progress.mjs";
import { harden } from "./harden.mjs";
import { collectFiles, sidebarOf } from "./pages.mjs";

const BASE = "/docs/";
const here = path.join(root, "scripts", "docs-site");
const stage = path.join(root, "dist", ".docs-site");

/** Returns the folder with the installed packages; each lock file has its own folder. */
async function ensureGenerator() {
  const caches = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  const files = ["package.json", "package-lock.json"].map((name) => path.join(here, name));
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(file));
  const folder = path.join(
    caches,
    "gpulse-engines",
    `docs-site-${hash.digest("hex").slice(0, 10)}`,
  );
  if (existsSync(folder)) return folder;
  mkdirSync(path.dirname(folder), { recursive: true });
  const aside = mkdtempSync(`${folder}-`);
  try {
    for (const file of files) cpSync(file, path.join(aside, path.basename(file)));
    await step("installing VitePress (110 MB, once)", async () => {
      const args = [
        "ci",
        "--include=dev",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
      ];
      const { code, output } = await runNpm(args, { cwd: aside });
      if (code !== 0)
        throw new PlainError(
          `the documentation site needs VitePress, and npm could not install it. Check the connection to the npm registry, then run npm run docs:site again.\n${output.trim()}`,
        );
    });
    // Another run may have finished first: its folder is identical.
    if (!existsSync(folder)) renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

/** VitePress requires a default export in its own file; the content is in site.mjs. */
const CONFIG = `import { transformerStyleToClass } from "@shikijs/transformers";
import { renderMermaidSVG } from "beautiful-mermaid";
import { siteConfig } from "./site.mjs";
export default siteConfig({ renderDiagram: (code) => renderMermaidSVG(code, { transparent: true, padding: 8, nodeSpacing: 16, layerSpacing: 32 }), codeClasses: transformerStyleToClass() });
`;
const THEME = `import theme from "vitepress/theme-without-fonts";
import "./style.css";
export default theme;
`;

/** Lays out the pages for VitePress, and returns the files that are served unchanged. @param {string} generator */
function writeStage(generator) {
  rmSync(stage, { recursive: true, force: true });
  const settings = path.join(stage, ".vitepress");
  mkdirSync(path.join(settings, "theme"), { recursive: true });
  symlinkSync(path.join(generator, "node_modules"), path.join(stage, "node_modules"), "junction");
  const files = collectFiles(root);
  for (const { kind, source, target } of files.values()) {
    const from = path.join(root, source);
    const to = path.join(stage, kind === "asset" ? "public" : "", target);
    mkdirSync(path.dirname(to), { recursive: true });
    if (kind === "code") {
      const text = readFileSync(from, "utf8").trimEnd();
      const language = path.extname(source).slice(1);
      writeFileSync(
        to,
        `---\nsearch: false\n---\n\n# ${path.basename(source)}\n\n\`${source}\`\n\n~~~~~${language}\n${text}\n~~~~~\n`,
      );
    } else cpSync(from, to);
  }
  cpSync(path.join(root, "web/public/favicon.svg"), path.join(stage, "public", "favicon.svg"));
  for (const name of ["site.mjs", "markdown.mjs", "pages.mjs"])
    cpSync(path.join(here, name), path.join(settings, name));
  cpSync(path.join(here, "theme", "style.css"), path.join(settings, "theme", "style.css"));
  writeFileSync(path.join(settings, "config.mjs"), CONFIG);
  writeFileSync(path.join(settings, "theme", "index.mjs"), THEME);
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const site = { version, base: BASE, files: [...files.values()], sidebar: sidebarOf(root, files) };
  writeFileSync(path.join(settings, "site.json"), JSON.stringify(site));
  return new Set(
    [...files.values()].filter(({ kind }) => kind === "asset").map(({ target }) => target),
  );
}

/** @param {string} generator @param {ReadonlySet<string>} assets */
async function buildPages(generator, assets) {
  const cli = path.join(generator, "node_modules", "vitepress", "bin", "vitepress.js");
  const { code, output } = await runNode(cli, ["build", stage, "--outDir", "out"], { cwd: stage });
  if (code !== 0) throw new PlainError(`VitePress failed: ${output.trim()}`);
  harden(path.join(stage, "out"), BASE, assets);
}

/** Covers every input of the site: the same fingerprint means the same site. */
function fingerprint() {
  const hash = createHash("sha256");
  const own = readdirSync(here, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => path.join(here, name))
    .filter((file) => statSync(file).isFile());
  const sources = [...collectFiles(root).keys()].map((source) => path.join(root, source));
  for (const file of [...own, ...sources, path.join(root, "package.json")])
    hash.update(`${path.relative(root, file)}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

/** @param {string} folder @param {number} tookMs */
function report(folder, tookMs) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  let [raw, gzip] = [0, 0];
  for (const file of files) {
    const bytes = readFileSync(file);
    raw += bytes.length;
    gzip += gzipSync(bytes).length;
  }
  const pages = files.filter((file) => file.endsWith(".html")).length;
  const size = `${(raw / 1e6).toFixed(1)} MB, ${(gzip / 1e6).toFixed(1)} MB compressed`;
  say(`dist/docs: ${pages} pages, ${size}, ${tookMs === 0 ? "up to date" : seconds(tookMs)}`);
}

/** Builds dist/docs unless it is up to date; a failed build keeps the previous one. */
export async function buildSite() {
  const target = path.join(root, "dist", "docs");
  const stamp = path.join(root, "dist", ".docs-stamp");
  await withLock(path.join(root, "dist", ".docs-site.lock"), async () => {
    const print = fingerprint();
    if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, "utf8") === print)
      return report(target, 0);
    const startedMs = performance.now();
    const generator = await ensureGenerator();
    try {
      await step("building the documentation site", () =>
        buildPages(generator, writeStage(generator)),
      );
      rmSync(stamp, { force: true });
      rmSync(target, { recursive: true, force: true });
      renameSync(path.join(stage, "out"), target);
      writeFileSync(stamp, print);
      return report(target, performance.now() - startedMs);
    } finally {
      rmSync(stage, { recursive: true, force: true });
    }
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await runMain(async () => {
    checkNode();
    await buildSite();
  });
