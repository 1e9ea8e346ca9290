import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { ensureBuild, repository } from "../../engines/program.ts";

const assets = path.join(repository, "dist", "web", "assets");
const files = (ending: string) => readdirSync(assets).filter((file) => file.endsWith(ending));
const content = (file: string) => readFileSync(path.join(assets, file));

beforeAll(ensureBuild, 300_000);

/** The chunks that a script needs before it can run, including itself. */
function withImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = content(file).toString("utf8");
  for (const [, imported = ""] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
    withImports(imported, seen);
  return seen;
}

test("what a first visit loads stays small: at most 100 KB of compressed script, with the fleet page", () => {
  const index = readFileSync(path.join(assets, "..", "index.html"), "utf8");
  const [, entry = ""] = /assets\/([^"]+\.js)"/.exec(index) ?? [];
  const [fleet = ""] = files(".js").filter((file) =>
    content(file).includes("GPUs with their newest"),
  );
  const sizes = [...withImports(fleet, withImports(entry))].map(
    (file) => gzipSync(content(file)).length,
  );
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100 * 1024);
});

test("the PromQL editor is not part of what a first visit loads", () => {
  const index = readFileSync(path.join(assets, "..", "index.html"), "utf8");
  const [, entry = ""] = /assets\/([^"]+\.js)"/.exec(index) ?? [];
  for (const file of withImports(entry)) expect(content(file).includes("cm-editor")).toBe(false);
});

test("the page does not tell where it was built", () => {
  for (const file of files(".js")) {
    expect(content(file).toString("utf8")).not.toContain(path.join(repository, "web"));
  }
});
