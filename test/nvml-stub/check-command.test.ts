// Tests the built `gpulse check` over the stand-ins: its exit codes, its JSON, its metrics, and GPUs without a supported load.

import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { radeonTree } from "../captures/amd-card.ts";
import { writeTree } from "../captures/tree.ts";
import { buildStub, type Stub } from "./stub.ts";

let nvml: Stub;
let cuda: Stub;

beforeAll(async () => {
  await ensureBuild();
  if (!("path" in findTool("gcc"))) return;
  nvml = await buildStub("nvml");
  cuda = await buildStub("cuda");
}, 300_000);
beforeEach((context) => {
  toolOrSkip(context, "gcc");
  nvml.script("gpus 1", "*.utilization 0", "*.name NVIDIA H200");
  cuda.script("memory 67108864");
});
afterAll(() => {
  nvml?.remove();
  cuda?.remove();
});

const check = async (...args: readonly string[]) =>
  runGpulse(
    [
      "check",
      "--seconds",
      "1",
      "--nvml-library",
      nvml.library,
      "--cuda-library",
      cuda.library,
      ...args,
    ],
    { timeoutMs: 60_000 },
  );

const gpusOf = (text: string): readonly { readonly verdict: string; readonly vendor: string }[] =>
  (JSON.parse(text) as { gpus: { verdict: string; vendor: string }[] }).gpus;

test.for([
  ["a good GPU", [], [], "pass", 0],
  ["a flipped bit", ["flip.memory 9 9"], [], "fail", 1],
  ["half the speed", ["slow 2"], [], "slow", 3],
  ["a GPU in use", [], ["process 0 4242 1048576 C"], "busy", 4],
  ["a driver without a GPU", ["Init.rc 100"], [], "unavailable", 4],
] as const)("%s", { timeout: 60_000 }, async ([, cudaLines, nvmlLines, verdict, code]) => {
  nvml.script("gpus 1", "*.utilization 0", "*.name NVIDIA H200", ...nvmlLines);
  cuda.script("memory 67108864", ...cudaLines);
  const done = await check("--json");
  expect(gpusOf(done.stdout)).toMatchObject([{ verdict }]);
  expect(done.code).toBe(code);
});

test(
  "results go to a sink as metrics, and the table leaves standard output to it",
  { timeout: 60_000 },
  async () => {
    const done = await check("--to", "stdout:prometheus");
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^gpu_check_passed\{[^}]*uuid="GPU-00000000[^}]*\} 1 \d+$/m);
    expect(done.stdout).toMatch(/^gpu_check_bandwidth_bytes_per_second\{[^}]*path="device_copy"/m);
    expect(done.stdout).toMatch(/^gpu_check_errors\{[^}]*test="memory"[^}]*\} 0 \d+$/m);
    expect(done.stderr).toContain("verdict: pass");
  },
);

test("an AMD GPU is listed with what cannot be done", { timeout: 60_000 }, async () => {
  const sysfs = writeTree(radeonTree);
  nvml.script("gpus 0");
  const done = await check("--json", "--sysfs", sysfs);
  expect(gpusOf(done.stdout)).toMatchObject([{ vendor: "amd", verdict: "unsupported" }]);
  expect(done.stdout).toContain("has no load for AMD GPUs");
  expect(done.code).toBe(4);
});

test("a GPU that is not there is a usage error that lists those that are", async () => {
  const done = await check("--gpu", "7");
  expect(done.code).toBe(2);
  expect(done.stderr).toContain("there is no GPU 7 here. There are 0 (GPU-");
});
