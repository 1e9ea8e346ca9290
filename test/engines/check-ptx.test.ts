// Assembles the kernels of `gpulse check` with NVIDIA's own assembler for every supported GPU generation: they have no
// spilled registers, and Hopper's tensor instructions are not serialised.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { pythonPackages } from "../../engines/python.ts";
import { baseModule } from "../../src/sources/nvidia/check/ptx/base.ts";
import { tensorModule } from "../../src/sources/nvidia/check/ptx/tensor.ts";
import { wgmmaModule } from "../../src/sources/nvidia/check/ptx/wgmma.ts";

const modules = { base: baseModule, tensor: tensorModule, wgmma: wgmmaModule } as const;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-ptx-"));
let ptxas: string;

beforeAll(async () => {
  const { python } = await pythonPackages("ptxas", ["nvidia-cuda-nvcc-cu12==12.9.86"]);
  const where = await runProcess(python, [
    "-c",
    "import nvidia.cuda_nvcc as package; print(list(package.__path__)[0])",
  ]);
  ptxas = path.join(where.stdout.trim(), "bin", "ptxas");
  for (const [name, text] of Object.entries(modules))
    writeFileSync(path.join(folder, `${name}.ptx`), text());
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.for([
  ["base", "sm_60"],
  ["base", "sm_70"],
  ["base", "sm_75"],
  ["base", "sm_80"],
  ["base", "sm_90"],
  ["base", "sm_100"],
  ["base", "sm_120"],
  ["tensor", "sm_80"],
  ["tensor", "sm_86"],
  ["tensor", "sm_89"],
  ["tensor", "sm_90"],
  ["tensor", "sm_100"],
  ["tensor", "sm_120"],
  ["wgmma", "sm_90a"],
] as const)("the %s module assembles for %s", { timeout: 60_000 }, async ([name, architecture]) => {
  const file = path.join(folder, `${name}.ptx`);
  const done = await runProcess(ptxas, [
    "-v",
    `-arch=${architecture}`,
    file,
    "-o",
    `${file}.cubin`,
  ]);
  expect([done.code, done.stderr.match(/error|warning/gi)]).toEqual([0, null]);
  const spills = [...done.stderr.matchAll(/(\d+) bytes spill stores/g)].map(([, bytes]) => bytes);
  expect(spills.length).toBeGreaterThan(0);
  expect(new Set(spills)).toEqual(new Set(["0"]));
});

test("what it refuses is seen: a module for Hopper does not assemble for Ampere", async () => {
  const file = path.join(folder, "wgmma.ptx");
  const done = await runProcess(ptxas, ["-arch=sm_80", file, "-o", `${file}.cubin`]);
  expect(done.code).not.toBe(0);
});
