/** Runs the guide's commands exactly as they are printed. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { analyses } from "./list.ts";
import { writeLake } from "../../../test/fixtures/lake/analyses.ts";

const guide = readFileSync(
  fileURLToPath(new URL("../../../docs/guides/analytics.md", import.meta.url)),
  "utf8",
);
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? "";

const dir = mkdtempSync(path.join(tmpdir(), "gpulse-guide-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const row = (minutes: number) => ({
  timeMs: Date.UTC(2026, 0, 1) + minutes * 60_000,
  gpu_power_watts: 100 + minutes,
  gpu_temperature_celsius_edge: 40 + minutes / 2,
});
writeLake(path.join(dir, "gpulse-data/lake"), [row(0), row(20), row(20), row(40), row(80)]);

test("the guide names every analysis", () => {
  for (const { name } of analyses) expect(guide).toContain(`| \`${name}\` |`);
});

test("the guide's SQL runs in DuckDB", async () => {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const sql = block("sql").replace("'gpulse-data/", `'${dir}/gpulse-data/`);
  const reader = await connection.runAndReadAll(sql);
  expect(reader.getRowObjectsJS()).toEqual([
    { gpu: 0, model: "Test GPU", together: 1, hottest: 80, instants: 4n },
  ]);
  connection.closeSync();
  instance.closeSync();
});

const python = process.env["GPULSE_TEST_PYTHON"] ?? "python3";

test("the guide's pandas runs where Python has pandas", (context) => {
  if (spawnSync(python, ["-c", "import pandas, pyarrow"]).status !== 0)
    context.skip("this Python has no pandas and pyarrow; GPULSE_TEST_PYTHON names another");
  const said = execFileSync(python, ["-c", block("python")], { cwd: dir, encoding: "utf8" });
  expect(said).toMatch(/00:00:00\+00:00\s+120\.0/);
  expect(said).toMatch(/01:00:00\+00:00\s+180\.0/);
});
