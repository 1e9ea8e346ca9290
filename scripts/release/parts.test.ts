// The parts of a release that need no other program: each has the same bytes every time, and contains what its consumer needs.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";

import { packChart, packImageContext, releaseNotes } from "./parts.mjs";

const root = path.resolve(import.meta.dirname, "../..");
const work = mkdtempSync(path.join(tmpdir(), "gpulse-parts-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
  version: string;
};

/** The entries that tar itself lists in an archive. */
function listed(archive: Buffer): readonly string[] {
  const file = path.join(work, "archive.tar.gz");
  writeFileSync(file, archive);
  const { status, stdout, stderr } = spawnSync("tar", ["--list", "--gzip", "--file", file], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout.trim().split("\n");
}

function tracked(): string[] {
  const { stdout } = spawnSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  return stdout.split("\0").filter((name) => name !== "");
}

test("the chart holds its templates and linked files, and nothing that .helmignore names", () => {
  const names = listed(packChart(root));
  expect(names).toContain("gpulse/Chart.yaml");
  expect(names).toContain("gpulse/values.schema.json");
  expect(names.filter((name) => name.startsWith("gpulse/files/rules/")).length).toBeGreaterThan(3);
  expect(names.filter((name) => /\/tests\/|examples\/|\.helmignore|\.test\.ts/.test(name))).toEqual(
    [],
  );
  expect(packChart(root)).toEqual(packChart(root));
});

test("the image context holds what the Dockerfile copies, and no test or working file", () => {
  const archive = packImageContext(root, tracked(), "abcdef1");
  const names = listed(archive);
  const dockerfile = readFileSync(path.join(root, "Dockerfile"), "utf8");
  const copies = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, sources = ""]) => sources.split(" "),
  );
  expect(copies.length).toBeGreaterThan(5);
  for (const source of copies.filter((one) => one !== "."))
    expect(
      names.some((name) => name === source || name.startsWith(`${source}/`)),
      source,
    ).toBe(true);
  expect(
    names.filter((name) => /\.test\.tsx?$|^docs\/decisions|^test\/|\.env$/.test(name)),
  ).toEqual([]);
  const shown = spawnSync("tar", ["-xzOf", path.join(work, "archive.tar.gz"), "Dockerfile"]);
  expect(String(shown.stdout)).toContain("\nARG GPULSE_COMMIT=abcdef1\n");
});

test("the notes are the changelog's section of the version", () => {
  const changelog =
    "# Changelog\n\n## Unreleased\n\n- X: no.\n\n## 1.2.0 - 2026-01-02\n\n- Hub: one.\n\n## 1.1.0\n\n- Hub: old.\n";
  expect(releaseNotes(changelog, "1.2.0")).toBe("# gpulse 1.2.0\n\n- Hub: one.\n");
  expect(releaseNotes(changelog, "1.1.0")).toBe("# gpulse 1.1.0\n\n- Hub: old.\n");
  expect(() => releaseNotes(changelog, "1.3.0")).toThrow("has no section for 1.3.0");
  expect(() => releaseNotes("## 1.3.0\n\n## 1.2.0\n\n- a\n", "1.3.0")).toThrow("lists no changes");
  const own = releaseNotes(readFileSync(path.join(root, "CHANGELOG.md"), "utf8"), version);
  expect(own).toMatch(/^- \w+.*: /m);
});
