// Tests a crash inside NVML: `gpulse up` keeps serving, its GPUs are down meanwhile, and the reader is restarted with growing pauses.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type Stub, buildStub } from "./stub.ts";

let stub: Stub;
let data: string;
let up: RunningProcess | undefined;
let url: string;

beforeAll(async () => {
  if (!("path" in findTool("gcc"))) return;
  await ensureBuild();
  stub = await buildStub();
}, 240_000);
beforeEach((context) => void toolOrSkip(context, "gcc"));
afterEach(async () => {
  await up?.stop();
  rmSync(data, { recursive: true, force: true });
});
afterAll(() => stub?.remove());

async function startUp(...lines: readonly string[]): Promise<RunningProcess> {
  stub.script(...lines);
  data = mkdtempSync(path.join(tmpdir(), "gpulse-crash-"));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const source = `nvidia:?library=${stub.library}&smi=${data}/no-such-smi`;
  const args = ["up", "--source", source, "--interval", "500ms", "--data", data, "--no-open"];
  up = startProcess(process.execPath, [program, ...args, "--port", String(port)]);
  await up.waitForUrl(`${url}/-/healthy`, 60_000);
  return up;
}

/** The value of the page's first line with this prefix; undefined if there is none. */
async function value(start: string): Promise<number | undefined> {
  const page = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
  const line = page.split("\n").find((one) => one.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ") + 1));
}

const eventually = (what: string, holds: () => Promise<boolean>, timeoutMs = 30_000) =>
  waitUntil({ what, timeoutMs }, async () => ((await holds()) ? true : undefined));

const isUp = async (): Promise<boolean> => (await value('gpu_up{gpu="1"')) === 1;
const isDown = async (): Promise<boolean> => (await value('gpu_up{gpu="1"')) === 0;

/** The pids of its running child processes. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter(Boolean)
    .map(Number);

test(
  "a segmentation fault in a call takes the GPUs down and not the program; they are back after a restart",
  { timeout: 120_000 },
  async () => {
    const running = await startUp("gpus 2");
    await eventually("the GPUs to be up", isUp);
    expect(await value("gpulse_source_process_restarts_total")).toBe(0);
    stub.script("gpus 2", "1.power.crash 1");
    await eventually("the GPUs to be down", isDown);
    expect(await value('gpu_power_watts{gpu="1"')).toBeUndefined();
    expect(running.exited()).toBeUndefined();
    expect(running.output()).toMatch(/warn {2}NVML process ended, starting another .*SIGSEGV/);
    // Without GPU 1: the crash may have been its failure.
    stub.script("gpus 1");
    await eventually("the other to be up", async () => (await value('gpu_up{gpu="0"')) === 1);
    expect(await isDown()).toBe(true);
    stub.script("gpus 2");
    await eventually("the GPU to be up again", isUp, 60_000);
    expect(await value("gpulse_source_process_restarts_total")).toBeGreaterThan(0);
    expect(await value("gpulse_source_process_resident_memory_bytes")).toBeGreaterThan(1e6);
  },
);

test(
  "a library that crashes at every start is started less and less often, and the rest goes on",
  { timeout: 120_000 },
  async () => {
    stub.logCalls();
    const running = await startUp("gpus 2", "init.crash 1");
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    const starts = stub.calls().filter(({ key }) => key === "init").length;
    // One at startup, and one each after 1, 2, 4 and 8 s.
    expect(starts).toBeGreaterThan(1);
    expect(starts).toBeLessThan(7);
    expect(running.exited()).toBeUndefined();
    expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
    stub.script("gpus 2");
    await eventually("the GPUs to be read", isUp, 60_000);
  },
);

test.for(["SIGTERM", "SIGKILL"] as const)(
  "%s of the program leaves no process behind while a call hangs",
  { timeout: 60_000 },
  async (signal) => {
    const running = await startUp("gpus 2");
    await eventually("the GPUs to be up", isUp);
    const children = childrenOf(running.pid);
    expect(children.length).toBeGreaterThan(0);
    stub.script("gpus 2", "1.power.hang 1");
    await eventually("the GPUs to be down", isDown);
    process.kill(running.pid, signal);
    const exit = await running.waitForExit(10_000);
    expect(exit).toEqual(
      signal === "SIGTERM" ? { code: 0, signal: null } : { code: null, signal: "SIGKILL" },
    );
    await eventually("its processes to be gone", async () =>
      children.every((pid) => !isAlive(pid)),
    );
  },
);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
