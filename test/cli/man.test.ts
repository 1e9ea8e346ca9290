// Tests of the man pages that the build writes and the package installs.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { manPages } from "../../scripts/reference/man.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

beforeAll(ensureBuild, 300_000);

const pages = (): string[] => readdirSync(path.join(root, "dist/man")).toSorted();

test("package.json names every page, so that npm install -g links them", () => {
  const { man } = JSON.parse(read("package.json")) as { man: string[] };
  expect(man).toEqual(pages().map((name) => `dist/man/${name}`));
});

test("the same checkout has the same pages, dated by the changelog", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const made = manPages(version, read("CHANGELOG.md"));
  for (const { name, text } of made) expect(read(`dist/man/${name}`)).toBe(text);
  const dated = manPages("9.8.7", "## 9.8.7 - 2031-02-03\n");
  expect(dated[0]?.text).toContain('.TH GPULSE 1 "2031-02-03" "gpulse 9.8.7"');
  expect(manPages("9.8.7", "").at(0)?.text).toContain('.TH GPULSE 1 "" "gpulse 9.8.7"');
});

test("groff renders every page without a warning, examples included", (context) => {
  const groff = toolOrSkip(context, "groff");
  for (const name of pages()) {
    const file = path.join(root, "dist/man", name);
    const { stdout, stderr } = spawnSync(groff, ["-man", "-ww", "-Tutf8", "-P-cbou", file], {
      encoding: "utf8",
    });
    expect(stderr, name).toBe("");
    expect(stdout, name).toContain("SYNOPSIS");
    expect(stdout, name).toMatch(/^ *(EXAMPLES|Examples:)/m);
  }
});

test("mandoc finds nothing wrong with them", (context) => {
  const mandoc = toolOrSkip(context, "mandoc");
  const files = pages().map((name) => path.join(root, "dist/man", name));
  const { stdout } = spawnSync(mandoc, ["-T", "lint", "-W", "warning", ...files], {
    encoding: "utf8",
  });
  // A version that is not in the changelog yet has no date.
  expect(
    stdout.split("\n").filter((line) => line !== "" && !line.includes("missing date")),
  ).toEqual([]);
});
