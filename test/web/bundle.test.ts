import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { ensureBuild, repository } from "../../engines/program.ts";

const assets = path.join(repository, "dist", "web", "assets");
const files = (ending: string) => readdirSync(assets).filter((file) => file.endsWith(ending));
const content = (file: string) => readFileSync(path.join(assets, file));

beforeAll(ensureBuild, 300_000);

test("what a first visit loads stays small: script and style together under 40 KB compressed", () => {
  const sizes = [...files(".js"), ...files(".css")].map((file) => gzipSync(content(file)).length);
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(40 * 1024);
});

test("the page does not tell where it was built", () => {
  for (const file of files(".js")) {
    expect(content(file).toString("utf8")).not.toContain(path.join(repository, "web"));
  }
});
