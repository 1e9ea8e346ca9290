// Checks the Windows setup as far as possible without Windows: its settings are valid, its gpulse commands exist, it states its
// status, and its scripts download and run nothing unreviewed.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { ensureBuild, repository, runGpulse } from "../../engines/program.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { processIo } from "../../src/cli/command/process-io.ts";
import { complaint } from "../docs/commands.ts";

const folder = path.join(repository, "deploy/windows");
const scripts = readdirSync(folder)
  .filter((name) => name.endsWith(".ps1"))
  .map((name) => [name, readFileSync(path.join(folder, name), "utf8")] as const);

test("the service's settings are valid", { timeout: 360_000 }, async () => {
  await ensureBuild();
  const done = await runGpulse(["config", "check", path.join(folder, "gpulse.yaml")]);
  expect(done).toMatchObject({ code: 0, stderr: "" });
});

test("the gpulse commands of the scripts exist with their flags", () => {
  const { program } = buildProgram(processIo());
  const lines = scripts.flatMap(([, text]) => text.match(/\bup --.*$/gm) ?? []);
  expect(lines).toHaveLength(2);
  const words = lines.map((line) =>
    line
      .replace(/["']\s*\+.*$/, "x")
      .trim()
      .split(/\s+/),
  );
  expect(words.map((args) => complaint(program, args))).toEqual([undefined, undefined]);
});

test.for(scripts)("%s says that it was not run on Windows, and stops at a mistake", ([, text]) => {
  expect(text).toMatch(/^# Not run on Windows by our tests\./);
  expect(text).toContain("$ErrorActionPreference = 'Stop'");
  expect(text).not.toMatch(/Invoke-Expression|\biex\b|Invoke-WebRequest|ExecutionPolicy|`$/m);
  for (const [open, close] of ["()", "{}", "[]"])
    expect(text.split(open ?? "").length, open).toBe(text.split(close ?? "").length);
});
