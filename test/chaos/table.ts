// Global setup and teardown: the chaos suite's files append their results, and one table of all of them is printed at
// the end. Loaded by vitest's configuration; prints nothing if no file of the suite ran.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { type Row, tableOf } from "./counts.ts";

let folder: string | undefined;

export function setup(): void {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-counts-"));
  process.env["CHAOS_COUNTS"] = path.join(folder, "counts.jsonl");
}

export function teardown(): void {
  if (folder === undefined) return;
  const file = path.join(folder, "counts.jsonl");
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  rmSync(folder, { recursive: true, force: true });
  if (lines.length === 0) return;
  const rows = lines.map((line) => JSON.parse(line) as Row);
  process.stderr.write(`\n${tableOf(rows)}\n`);
}
