// MLCommons' own checker accepts the system description that gpulse writes, once the submitter has filled in the rest.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { mlperfChecker } from "../../engines/mlperf-checker.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-mlperf-"));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("MLCommons' checker accepts the description of a run, and refuses one without a field", async (context) => {
  const { python } = await orSkip(context, mlperfChecker());
  const run = path.join(folder, "a.gpulserun");
  const args = ["run", "--source=sim:2", "--baseline=0", `--out=${run}`, "--", "sleep", "0.2"];
  expect((await runGpulse(args)).code).toBe(0);
  const written = await runGpulse(["runs", "mlperf", run, `--out=${folder}`]);
  expect(written.code).toBe(0);
  expect(written.stderr).toMatch(/the submission checker requires them: division, submitter/);
  const file = path.join(folder, "system.json");
  const system = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  const filled: Record<string, string> = {
    ...system,
    submitter: "Example",
    division: "open",
    status: "Research, Development, or Internal (RDI)",
    system_name: "example-node",
    framework: "PyTorch 2.8",
  };
  const check = async (value: object) => {
    writeFileSync(file, JSON.stringify(value));
    const { stderr, stdout } = await runProcess(
      python,
      ["-m", "mlperf_logging.system_desc_checker", file, "training", "6.1.0"],
      { cwd: folder },
    );
    return stdout + stderr;
  };
  expect(await check(filled)).toContain("System description checker passed for example-node");
  const { host_memory_capacity: _, ...lacking } = filled;
  expect(await check(lacking)).toContain("Missing field host_memory_capacity");
  expect(await check({ ...filled, status: "" })).toContain("status contains a non valid value");
}, 120_000);
