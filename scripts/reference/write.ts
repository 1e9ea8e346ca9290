/** Writes the generated pages; with --check only says which are not current. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pages } from "./pages.ts";

for (const { path, render } of pages) {
  const text = await render();
  let before = "";
  try {
    before = readFileSync(path, "utf8");
  } catch {
    // A page that is not there yet is written like any other.
  }
  if (before === text) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  process.stdout.write(`wrote ${path}\n`);
}
