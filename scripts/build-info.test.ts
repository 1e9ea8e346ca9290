// The commit of a build, tested with real temporary repositories.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";

import { currentCommit } from "./build-info.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-commit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function git(...args: string[]): string {
  const identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  const done = spawnSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8" });
  expect(done.status, done.stderr).toBe(0);
  return done.stdout.trim();
}

test("a folder that is no repository has an unknown commit, also inside one", () => {
  expect(currentCommit(folder, {})).toBe("unknown");
  git("init", "--quiet");
  const inner = path.join(folder, "inner");
  mkdirSync(inner);
  expect(currentCommit(inner, {})).toBe("unknown");
});

test("a commit is named by seven digits, and uncommitted changes mark it", () => {
  writeFileSync(path.join(folder, "a.txt"), "one");
  git("add", ".");
  git("commit", "--quiet", "--message", "one");
  const head = git("rev-parse", "HEAD").slice(0, 7);
  expect(currentCommit(folder, {})).toBe(head);
  writeFileSync(path.join(folder, "a.txt"), "two");
  expect(currentCommit(folder, {})).toBe(`${head}-dirty`);
});

test("GPULSE_COMMIT names the commit of a copy without .git", () => {
  expect(currentCommit(folder, { GPULSE_COMMIT: "abcdef1" })).toBe("abcdef1");
});
