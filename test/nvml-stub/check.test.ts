// Tests `gpulse check` over stand-ins for the driver's two libraries: a pass, every kind of failure, and one flipped bit found each time.

import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { runCheckProcess } from "../../src/sources/nvidia/check/process.ts";
import {
  type CheckEnd,
  type CheckEvent,
  type CheckSettings,
  type CheckTest,
  checkTests,
  type Measurement,
} from "../../src/sources/nvidia/check/protocol.ts";
import { buildStub, buildWorker, type Stub } from "./stub.ts";

let nvml: Stub;
let cuda: Stub;
let worker: { readonly file: string; remove(): void };

beforeAll(async () => {
  if (!("path" in findTool("gcc"))) return;
  nvml = await buildStub("nvml");
  cuda = await buildStub("cuda");
  worker = await buildWorker("check-worker");
});
beforeEach((context) => {
  toolOrSkip(context, "gcc");
  nvml.script("gpus 1", "*.utilization 0");
  cuda.script("memory 67108864");
  cuda.logCalls();
});
afterAll(() => {
  nvml?.remove();
  cuda?.remove();
  worker?.remove();
});

interface Checked {
  readonly end: CheckEnd;
  readonly events: readonly CheckEvent[];
  readonly measurements: readonly Measurement[];
}

async function check(
  given: Partial<CheckSettings> = {},
  onEvent: (event: CheckEvent) => void = () => undefined,
  signal = new AbortController().signal,
): Promise<Checked> {
  const events: CheckEvent[] = [];
  const end = await runCheckProcess({
    workerFile: worker.file,
    settings: {
      uuid: "GPU-00000000-0000-4000-8000-000000000000",
      cudaLibraries: [cuda.library],
      nvmlLibraries: [nvml.library],
      seconds: 0.5,
      tests: checkTests,
      deadlineMs: 10_000,
      ...given,
    },
    onEvent: (event) => {
      events.push(event);
      onEvent(event);
    },
    signal,
  });
  const measurements = events.flatMap((event) =>
    event.kind === "measurement" ? [event.measurement] : [],
  );
  return { end, events, measurements };
}

/** Resources the stand-in still held when the context was released: events, modules and memory. */
const liveAtRelease = (): readonly string[] =>
  cuda.calls().flatMap(({ key }) => (key.startsWith("live=") ? [key] : []));

const only = (...tests: CheckTest[]): { readonly tests: readonly CheckTest[] } => ({ tests });

test("a good GPU has every measurement, and everything is given back", async () => {
  const { end, measurements } = await check();
  expect(end).toEqual({ state: "done" });
  expect(measurements.map((one) => one.test)).toEqual(checkTests);
  expect(liveAtRelease()).toEqual(["live=0"]);
  const [copy, up, down, fp32, tensor, products, memory] = measurements;
  const bandwidths = [copy, up, down].map((one) =>
    one !== undefined && "bytesPerSecond" in one ? Math.round(one.bytesPerSecond / 1e9) : one,
  );
  expect(bandwidths).toEqual([4_000, 50, 50]);
  expect(fp32).toMatchObject({ instruction: "fma", wrong: { count: 0, sms: [] } });
  if (fp32?.test !== "fp32") throw new Error("no FP32 rate");
  expect(fp32.flopsPerCycleAndSm / 256).toBeCloseTo(0.95);
  expect(tensor).toMatchObject({ instruction: "wgmma", wrong: { count: 0, sms: [] } });
  if (tensor?.test !== "tensor") throw new Error("no tensor rate");
  expect(tensor.heldHertz / 1e9).toBeCloseTo(1.5);
  expect(tensor.flopsPerCycleAndSm / 4_096).toBeCloseTo(0.95);
  expect(products).toMatchObject({ smCount: 4, kinds: ["integer", "bf16"], wrong: { count: 0 } });
  expect(memory).toMatchObject({ patterns: 6, wrongWords: 0 });
  expect(memory).not.toHaveProperty("bits");
});

test("an Ampere GPU is measured with mma.sync, and a Turing GPU has no bf16", async () => {
  cuda.script("memory 67108864", "capability 80");
  const ampere = await check(only("tensor"));
  expect(ampere.measurements).toMatchObject([{ instruction: "mma.sync" }]);
  cuda.script("memory 67108864", "capability 75");
  const turing = await check(only("tensor", "products"));
  expect(turing.events).toContainEqual(
    expect.objectContaining({ kind: "skipped", test: "tensor" }),
  );
  expect(turing.measurements).toMatchObject([{ test: "products", kinds: ["integer"] }]);
});

test("a driver that cannot compile wgmma is measured with mma.sync", async () => {
  cuda.script("memory 67108864", "reject sm_90a");
  const { end, measurements } = await check(only("tensor"));
  expect([end.state, measurements]).toMatchObject(["done", [{ instruction: "mma.sync" }]]);
});

test.for([
  ["flip.memory 4242 17", "memory", { firstOffset: 4_242 * 8 }],
  ["flip.memory 0 63", "memory", { bits: "0x8000000000000000", firstOffset: 0 }],
  ["flip.tensor 2 0", "tensor", { wrong: { sms: [2] } }],
  ["flip.fp32 3 31", "fp32", { wrong: { sms: [3] } }],
  ["flip.products 1 9", "products", { wrong: { sms: [1] } }],
] as const)("%s is found by %s", async ([line, name, wanted]) => {
  cuda.script("memory 67108864", line);
  const { end, measurements } = await check({ ...only(name), seconds: 0.2 });
  expect([end.state, measurements]).toMatchObject(["done", [wanted]]);
  const [measured] = measurements;
  // Once per pattern and pass; the number of passes depends on the machine.
  if (measured?.test === "memory") expect(measured.wrongWords).toBe(6 * measured.passes);
});

test(
  "one flipped bit is found in 100 of 100 injections, and clean runs find nothing",
  { timeout: 240_000 },
  async () => {
    cuda.script("memory 134217728");
    const { end, events } = await check({ selfTest: 100 });
    expect(end).toEqual({ state: "done" });
    const results = events.flatMap((event) => (event.kind === "self-test" ? [event.result] : []));
    expect(results).toEqual([
      {
        injected: 100,
        found: 100,
        falseAlarms: 0,
        kinds: {
          "integer products": { injected: 34, found: 34 },
          "bf16 products": { injected: 33, found: 33 },
          memory: { injected: 33, found: 33 },
        },
      },
    ]);
  },
);

test("a library that is missing, or is no library, gives the loader's own reason", async () => {
  const missing = await check({ cudaLibraries: ["libcuda-that-is-not-there.so.1"] });
  expect(missing.end.state).toBe("unavailable");
  expect(missing.end.says).toContain(
    "libcuda-that-is-not-there.so.1: cannot open shared object file: No such file or directory",
  );
  const refused = await check({ cudaLibraries: [worker.file] });
  expect(refused.end.says).toMatch(/invalid ELF header|file too short/);
});

test.for([
  [["Init.rc 100"], "unavailable", "cuInit returned CUDA_ERROR_NO_DEVICE (100)"],
  [["Init.rc 802"], "unavailable", "CUDA_ERROR_SYSTEM_NOT_READY (802)"],
  [["Init.rc 803"], "unavailable", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"],
  [["Init.rc 999"], "unavailable", "CUDA_ERROR_UNKNOWN (999)"],
  [["Init.rc 4711"], "unavailable", "CUDA error (4711)"],
  [["gpus 0"], "unavailable", "does not list GPU-00000000"],
  [["DevicePrimaryCtxRetain.rc 46"], "busy", "exclusive or prohibited compute mode"],
  [["DevicePrimaryCtxRetain.rc 2"], "unavailable", "Not enough free memory"],
  [["capability 52"], "unsupported", "Compute capability 5.2"],
  [["memory 1024"], "unavailable", "CUDA_ERROR_OUT_OF_MEMORY (2)"],
  [["MemAllocHost_v2.rc 2"], "unavailable", "Not enough free memory"],
  [
    ["reject fp32_rate", "log ptxas line 7; error: unknown instruction"],
    "unavailable",
    "could not compile the load (cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218)): ptxas line 7; error: unknown instruction",
  ],
  [["LaunchKernel.rc 719"], "failed", "cuLaunchKernel failed: CUDA_ERROR_LAUNCH_FAILED (719)"],
  [["LaunchKernel.rc 1"], "unavailable", "refused a call: cuLaunchKernel failed"],
  [["EventSynchronize.rc 700 9"], "failed", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"],
  [["EventSynchronize.rc 214 9"], "failed", "uncorrectable memory error"],
  [["LaunchKernel.crash 2"], "failed", "ended the process that loads the GPU by SIGSEGV"],
] as const)("%j ends as %s: %s", async ([lines, state, says]) => {
  cuda.script("memory 67108864", ...lines);
  const { end } = await check({ seconds: 0.2 });
  expect(end.state).toBe(state);
  expect(end.says).toContain(says);
});

test.for(["Init", "ModuleLoadDataEx", "EventSynchronize", "MemFree_v2", "MemAlloc_v2"])(
  "cu%s that never returns ends at the deadline, and the process is killed",
  { timeout: 60_000 },
  async (name) => {
    cuda.script("memory 67108864", `${name}.hang 1`);
    // The stub computes what a GPU would, which takes seconds on a busy machine.
    const { end } = await check({ seconds: 0.2, deadlineMs: 4_000 });
    expect(end.state).toBe("failed");
    expect(end.says).toMatch(
      new RegExp(
        String.raw`^cu${name} did not return within [\d.]+ s: .* The process was killed\.$`,
      ),
    );
  },
);

test("a GPU in use is left alone, and what holds it is named", async () => {
  nvml.script("gpus 1", "*.utilization 0", `process 0 ${process.pid} 1048576 C`);
  const listed = await check();
  expect(listed.end.state).toBe("busy");
  expect(listed.end.says).toContain(`(pid ${process.pid})`);
  nvml.script("gpus 1", "*.utilization 55");
  expect((await check()).end.says).toContain("not listed here (utilization 55 %)");
  nvml.script("gpus 1", "*.utilization 0", "mig 0 2");
  const split = await check();
  expect(split.end.state).toBe("unsupported");
  expect(split.end.says).toContain("MIG");
  expect(cuda.calls()).toEqual([]);
});

test("a program that only draws does not count as a user", async () => {
  nvml.script("gpus 1", "*.utilization 0", "process 0 4242 1048576 G");
  expect((await check({ ...only("fp32"), seconds: 0.1 })).end.state).toBe("done");
});

/** Runs a long check, and applies a change once the first measurement has started. */
async function midway(change: () => void, given: Partial<CheckSettings> = {}): Promise<Checked> {
  let isChanged = false;
  return check({ seconds: 60, ...only("fp32", "memory"), ...given }, ({ kind }) => {
    if (isChanged || kind !== "progress") return;
    isChanged = true;
    change();
  });
}

test("another process that appears midway stops it at once, and everything is given back", async () => {
  const { end } = await midway(() => nvml.script("gpus 1", "process 0 4242 1048576 C"));
  expect(end.state).toBe("stopped");
  expect(end.says).toMatch(/^Stopped: .*pid 4242.* started to use the GPU\.$/);
  expect(liveAtRelease()).toEqual(["live=0"]);
});

test("memory that another program takes stops it where the driver lists no processes", async () => {
  cuda.script("memory 268435456");
  const { end } = await midway(() => cuda.script("memory 268435456", "taken 134217728"), {
    ...only("fp32"),
  });
  expect(end.state).toBe("stopped");
  expect(end.says).toContain("not listed here (it took");
});

test("a GPU that is lost midway has failed", async () => {
  const lost = ["compute_processes.rc 15", "processes.rc 15"].map((line) => `*.${line}`);
  const { end } = await midway(() => nvml.script("gpus 1", ...lost));
  expect(end).toMatchObject({
    state: "failed",
    says: "The GPU was lost during the check: NVML reports GPU_IS_LOST.",
  });
});

test("a user who stops it ends it, and everything is given back", async () => {
  const abort = new AbortController();
  const { end } = await check(
    { seconds: 60, ...only("fp32") },
    ({ kind }) => void (kind === "progress" && abort.abort()),
    abort.signal,
  );
  expect(end).toEqual({ state: "stopped", says: "Stopped: you stopped it." });
  expect(liveAtRelease()).toEqual(["live=0"]);
});
