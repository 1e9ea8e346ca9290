// A package from a git address, as in `npm pack git+https://…` and `npx --package=git+https://…`: npm clones, installs
// and runs `prepare`, which has to build.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";

test("npm makes a package that runs from a git address", { timeout: 600_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-git-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const npm = (args: readonly string[]) =>
    runProcess("npm", [...args, "--no-audit", "--no-fund"], { cwd: folder, timeoutMs: 500_000 });
  const packed = await npm(["pack", `git+file://${repository}`]);
  expect(packed.code, packed.stderr).toBe(0);
  const [tarball = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  const prefix = path.join(folder, "prefix");
  const installed = await npm(["install", "-g", "--prefix", prefix, "--omit=optional", tarball]);
  expect(installed.code, installed.stderr).toBe(0);
  const head = await runProcess("git", ["rev-parse", "HEAD"], { cwd: repository });
  const reported = await runProcess(path.join(prefix, "bin", "gpulse"), ["--version"]);
  expect(reported.stdout).toContain(`(commit ${head.stdout.slice(0, 7)}`);
});
