// Tests unusable folders: every command exits by itself with instructions.

import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { ensureBuild, program, runGpulse } from "../../engines/program.ts";

beforeAll(ensureBuild, 300_000);

const root = mkdtempSync(path.join(tmpdir(), "gpulse-folders-"));

test.runIf(process.platform === "linux").for([
  [["hub", "--data", "/proc/gpulse", "--port", "0"], 2],
  [["up", "--no-open", "--data", "/proc/gpulse/a/b", "--source", "sim:1", "--port", "0"], 2],
  [["token", "add", "name", "--data", "/proc/gpulse"], 2],
  [["pipe", "--from", "sim:1", "--to", "parquet:/proc/gpulse", "--for", "1s"], 1],
  [["run", "--source", "sim:1", "--out", "/proc/gpulse/a.gpulserun", "--", "true"], 2],
  [["run", "--source", "sim:1", "--out", "/proc/gpulse.gpulserun", "--", "true"], 2],
] as const)("gpulse %j ends and names the folder", async ([args, exit]) => {
  const { code, stderr } = await runGpulse(args, { timeoutMs: 20_000 });
  expect(stderr).toContain("/proc does not accept new folders. Choose another folder.");
  expect(stderr).not.toContain("BUG");
  expect(code).toBe(exit);
});

test
  .runIf(process.platform === "linux")
  .for([
    [["hub", "--port", "0"]],
    [["run", "--source", "sim:1", "--", "true"]],
    [["pipe", "--from", "sim:1", "--to", "parquet:lake", "--for", "1s"]],
  ])("gpulse %j in a deleted folder says so", ([args = []]) => {
  const folder = mkdtempSync(path.join(root, "gone-"));
  const line = `cd ${folder} && rmdir ${folder} && exec "$@"`;
  const { status, stderr } = spawnSync(
    "sh",
    ["-c", line, "sh", process.execPath, program, ...args],
    { encoding: "utf8", timeout: 20_000 },
  );
  expect(stderr).toContain("The current folder no longer exists");
  expect(stderr).not.toContain("BUG");
  expect(status).toBe(2);
});
