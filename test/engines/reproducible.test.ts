// The same sources produce the same bytes, wherever they are built; and no serious vulnerability is known, if advisories
// are available.

import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A separate checkout, with the packages hard-linked file by file. */
async function checkout(name: string): Promise<string> {
  const parent = mkdtempSync(path.join(tmpdir(), "gpulse-build-"));
  folders.push(parent);
  const folder = path.join(parent, name);
  const { stdout } = await runProcess(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { cwd: repository },
  );
  for (const file of stdout
    .split("\0")
    .filter((one) => /^(bin|docs|deploy|package|scripts|src|tsconfig|web|\.npmrc)/.test(one))) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    cpSync(path.join(repository, file), path.join(folder, file));
  }
  const modules = path.join(repository, "node_modules");
  // Copied if hard links are not possible, as between two file systems.
  const linked = await runProcess("cp", ["-al", modules, path.join(folder, "node_modules")]);
  if (linked.code !== 0) {
    rmSync(path.join(folder, "node_modules"), { recursive: true, force: true });
    await runProcess("cp", ["-a", modules, path.join(folder, "node_modules")]);
  }
  return folder;
}

function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== ".stamp.json")
    .map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files
      .sort()
      .map((file) => [
        path.relative(folder, file),
        createHash("sha256").update(readFileSync(file)).digest("hex"),
      ]),
  );
}

test("a checkout builds the same bytes in two places", { timeout: 300_000 }, async () => {
  const built: Record<string, string>[] = [];
  let folder = await checkout("one");
  for (const name of ["two", "another-with-a-longer-name"]) {
    const elsewhere = path.join(path.dirname(folder), name);
    renameSync(folder, elsewhere);
    folder = elsewhere;
    rmSync(path.join(folder, "dist"), { recursive: true, force: true });
    const done = await runProcess(process.execPath, ["scripts/build.mjs"], {
      cwd: folder,
      timeoutMs: 240_000,
    });
    expect(done.code, done.stderr).toBe(0);
    built.push(digests(path.join(folder, "dist")));
  }
  const [first, second] = built;
  expect(Object.keys(first ?? {}).length).toBeGreaterThan(50);
  expect(second).toEqual(first);
});

test(
  "no serious vulnerability of what is shipped is known",
  { timeout: 200_000 },
  async (context) => {
    const { code, stdout } = await runProcess(
      process.execPath,
      ["scripts/supply/check-advisories.mjs"],
      { cwd: repository, timeoutMs: 180_000 },
    );
    const { says } = JSON.parse(stdout) as { says: string };
    if (code === 2) context.skip(says);
    expect(code, says).toBe(0);
  },
);
