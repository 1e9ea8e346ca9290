// Before and after a whole run of tests: the chaos suite's files write down what they counted, and one table over all of them is printed
// at the end. Loaded by vitest's configuration; where no file of the suite ran it prints nothing.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { tableOf } from "./counts.ts";
import type { Row } from "./counts.ts";

export default function chaosTable(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-counts-"));
  const file = path.join(folder, "counts.jsonl");
  process.env["CHAOS_COUNTS"] = file;
  return () => {
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    rmSync(folder, { recursive: true, force: true });
    if (lines.length === 0) return;
    const rows = lines.map((line) => JSON.parse(line) as Row);
    process.stderr.write(`\n${tableOf(rows)}\n`);
  };
}
