// The packed tarball as a user gets it: installed into an empty folder without a registry, and run by npx there.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, repository } from "../../engines/program.ts";

const SETUP_TIMEOUT_MS = 240_000;
const NPM = process.platform === "win32" ? "npm.cmd" : "npm";
const NPX = process.platform === "win32" ? "npx.cmd" : "npx";
// Run from an npm script, npm would hand its own settings down and look for this package there.
const CLEAN = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /^npm_(package|lifecycle|config_local_prefix)/i.test(name))
    .map((name) => [name, ""]),
);

/** The one line of `--version`: name, version, then commit and Node version in brackets. */
const versionLine = (version: string): RegExp =>
  new RegExp(`^gpulse ${version} \\(commit (?:[0-9a-f]{7}(?:-dirty)?|unknown), node v\\S+\\)\n$`);

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let folder: string;
let packed: Packed;

beforeAll(async () => {
  await ensureBuild();
  // A space in the path, as on many users' machines.
  folder = await mkdtemp(path.join(tmpdir(), "gpulse package-"));
  const pack = await runProcess(NPM, ["pack", "--json", "--pack-destination", folder], {
    cwd: repository,
  });
  if (pack.code !== 0) throw new Error(`npm pack failed: ${pack.stderr}`);
  const [first] = JSON.parse(pack.stdout) as readonly Packed[];
  if (first === undefined) throw new Error("npm pack named no tarball");
  packed = first;
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ private: true }));
  const args = [
    "install",
    "--offline",
    "--omit=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    `./${packed.filename}`,
  ];
  const install = await runProcess(NPM, args, { cwd: folder, env: CLEAN });
  if (install.code !== 0) throw new Error(`npm install failed: ${install.stderr}`);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("the tarball holds the program and nothing of its making", () => {
  const names = packed.files.map((file) => file.path);
  expect(names).toEqual(
    expect.arrayContaining([
      "bin/gpulse",
      "dist/gpulse/main.js",
      "dist/agent/main.js",
      "LICENSE",
      "README.md",
    ]),
  );
  expect(
    names.filter((name) =>
      /^(src|test|scripts|engines|web|deploy)\/|\.map$|dist\/(\.|single|release)/.test(name),
    ),
  ).toEqual([]);
  expect(packed.files.find((file) => file.path === "bin/gpulse")?.mode).toBe(0o755);
});

test("every file that README and docs/README.md link to is in the tarball", async () => {
  const names = packed.files.map((file) => file.path);
  for (const page of ["README.md", "docs/README.md"]) {
    const text = await readFile(path.join(repository, page), "utf8");
    const links = [...text.matchAll(/\]\(([^)#\s]+)|\b(?:src|srcset|href)="([^"#\s]+)"/g)]
      .map(([, link, html]) => link ?? html ?? "")
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => path.posix.join(path.posix.dirname(page), link));
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !names.includes(link))).toEqual([]);
  }
});

test("nothing else has to be installed for it to run", async () => {
  const lock = await readFile(path.join(folder, "package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as { packages: Record<string, { optional?: boolean }> };
  const needed = Object.keys(packages).filter((name) => packages[name]?.optional !== true);
  expect(needed).toEqual(["", "node_modules/gpulse"]);
});

test("npx gpulse --version prints the package's version", async () => {
  const manifest = await readFile(path.join(repository, "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const { code, stdout } = await runProcess(NPX, ["gpulse", "--version"], {
    cwd: folder,
    env: CLEAN,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(versionLine(version));
});

test("npx gpulse --version works in the checkout too", async () => {
  const { code, stdout } = await runProcess(NPX, ["gpulse", "--version"], {
    cwd: repository,
    env: CLEAN,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(versionLine("\\d+\\.\\d+\\.\\d+\\S*"));
});

test(
  "npx gpulse agent serves simulated GPUs from the installed package",
  { timeout: 60_000 },
  async () => {
    const args = ["gpulse", "agent", "--source", "sim:2", "--port", "0", "--host", "127.0.0.1"];
    const agent = startProcess(NPX, args, { name: "npx gpulse agent", cwd: folder, env: CLEAN });
    try {
      const [url] = await agent.waitForOutput(/http:\/\/127\.0\.0\.1:[1-9]\d*/);
      await agent.waitForUrl(`${url}/readyz`);
      const page = await (await fetch(`${url}/metrics`)).text();
      expect(page.match(/^gpu_up\{/gm)).toHaveLength(2);
    } finally {
      await agent.stop();
    }
  },
);
