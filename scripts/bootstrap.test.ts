// Tests parts of the bootstrap with real files and processes in a temporary folder.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { afterEach, beforeEach, expect, test } from "vitest";

import { runProcess } from "../engines/process.ts";
import { checkNode } from "./bootstrap.mjs";
import { bundleInputs } from "./bundle-inputs.mjs";
import { fingerprint, isBuildFresh, writeStamp } from "./fingerprint.mjs";
import { withLock } from "./lock.mjs";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-bootstrap-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(file: string, text: string): void {
  const full = path.join(folder, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, text);
}

test.for([
  ["18.20.4", "this is Node 18.20.4, and gpulse needs 20.19.0 or newer"],
  ["20.18.9", "this is Node 20.18.9, and gpulse needs 20.19.0 or newer"],
])("Node %s is refused in one sentence", ([version = "", sentence = ""]) => {
  expect(() => checkNode(version)).toThrow(sentence);
});

test.for(["20.19.0", "20.20.2", "22.0.0", "24.1.0"])("Node %s is new enough", (version) => {
  expect(() => checkNode(version)).not.toThrow();
});

test("a build is stale without a stamp, fresh with it, and stale once a source changes", () => {
  write("src/a.ts", "1");
  mkdirSync(path.join(folder, "dist"));
  expect(isBuildFresh(folder)).toBe(false);
  writeStamp(folder, fingerprint(folder));
  expect(isBuildFresh(folder)).toBe(true);
  write("src/a.ts", "2");
  expect(isBuildFresh(folder)).toBe(false);
});

test("a new source makes a build stale, a new test or a new time alone does not", () => {
  write("src/a.ts", "1");
  mkdirSync(path.join(folder, "dist"));
  writeStamp(folder, fingerprint(folder));
  write("src/a.test.ts", "1");
  expect(isBuildFresh(folder)).toBe(true);
  utimesSync(path.join(folder, "src/a.ts"), 1_000, 1_000);
  expect(isBuildFresh(folder)).toBe(true);
  write("src/b.ts", "1");
  expect(isBuildFresh(folder)).toBe(false);
});

test("two holders of a lock never work at the same time", async () => {
  const lock = path.join(folder, "lock");
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await sleep(20);
    inside--;
  };
  await Promise.all([withLock(lock, work), withLock(lock, work), withLock(lock, work)]);
  expect(most).toBe(1);
});

test("a lock whose owner has died is taken over", async () => {
  const lock = path.join(folder, "lock");
  const dead = await runProcess(process.execPath, ["-p", "process.pid"]);
  write("lock", dead.stdout.trim());
  expect(await withLock(lock, async () => readFileSync(lock, "utf8"))).toBe(String(process.pid));
});

test("a bundle's report distinguishes at once from later, and who pulled a file in", async () => {
  write("main.ts", `import "./near.ts"; export const far = () => import("./far.ts");`);
  write("near.ts", `console.log("near");`);
  write("far.ts", `import "./deep.ts"; console.log("far");`);
  write("deep.ts", `console.log("deep");`);
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ["main.ts"],
    outdir: path.join(folder, "out"),
    bundle: true,
    splitting: true,
    format: "esm",
    metafile: true,
  });
  expect(bundleInputs(metafile, "main.ts")).toEqual({
    static: ["main.ts", "near.ts"],
    lazy: ["deep.ts", "far.ts"],
    importedBy: { "near.ts": "main.ts", "far.ts": "main.ts", "deep.ts": "far.ts" },
  });
});
