// Tests the built agent over a hanging driver: everything else continues, the driver is reported, it is never called twice, and
// the process exits.

import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { buildStub, type Stub } from "./stub.ts";

const SETUP_TIMEOUT_MS = 240_000;
/** Orchestrators wait 10 s or more by default before they kill; this is well below. */
const GRACE_MS = 8_000;

let stub: Stub | undefined;
let agent: RunningProcess | undefined;
let url: string;

beforeAll(async () => {
  if (!("path" in findTool("gcc"))) return;
  await ensureBuild();
  stub = await buildStub();
  stub.script("gpus 8");
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const sources = ["--source", `nvidia:?library=${stub.library}`, "--source", "sim:2"];
  const listen = ["--port", String(port), "--host", "127.0.0.1", "--interval", "500ms"];
  agent = startProcess(process.execPath, [program, "agent", ...sources, ...listen]);
  await agent.waitForUrl(`${url}/readyz`, 60_000);
}, SETUP_TIMEOUT_MS);
beforeEach((context) => void toolOrSkip(context, "gcc"));

afterAll(async () => {
  stub?.script("gpus 8");
  await agent?.stop();
  stub?.remove();
});

/** The result of the set-up; throws if it did not run. */
function made(): { readonly stub: Stub; readonly agent: RunningProcess } {
  if (stub === undefined || agent === undefined) throw new Error("BUG: the set-up did not run");
  return { stub, agent };
}

/** The page's lines with this prefix; also checks that the scrape responds promptly. */
async function lines(start: string): Promise<string[]> {
  const page = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
  return page.split("\n").filter((line) => line.startsWith(start));
}

async function nvidiaHealth(): Promise<{ ok: boolean; trouble?: string } | undefined> {
  const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const { sources } = (await answer.json()) as {
    sources: { source: string; ok: boolean; trouble?: string }[];
  };
  return sources.find(({ source }) => source === "nvidia");
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  await waitUntil({ what, timeoutMs: 20_000 }, async () => ((await holds()) ? true : undefined));
}

const late = async (): Promise<string> =>
  (await lines('gpulse_source_reads_total{outcome="late",source="nvidia",tier="fast"}'))[0]?.split(
    " ",
  )[1] ?? "";

test(
  "a driver that hangs is named while the page goes on, is late once, and is picked up when it comes back",
  { timeout: 60_000 },
  async () => {
    expect(await lines("gpu_power_watts{")).toHaveLength(10);
    made().stub.script("gpus 8", "3.power.hang 1");
    await eventually("the hang to be named", async () => (await nvidiaHealth())?.ok === false);
    expect((await nvidiaHealth())?.trouble).toMatch(/^hung: /);
    await eventually(
      "the hung GPUs' values to be gone, not repeated",
      async () => (await lines("gpu_power_watts{")).length === 2,
    );
    const [first] = await lines('gpulse_source_reads_total{outcome="ok",source="sim",tier="fast"}');
    await eventually(
      "the other source to go on",
      async () =>
        (await lines('gpulse_source_reads_total{outcome="ok",source="sim",tier="fast"}'))[0] !==
        first,
    );
    expect(await late()).toBe("1");
    made().stub.script("gpus 8", "3.power 333000");
    await eventually("the driver to be picked up", async () =>
      (await lines("gpu_power_watts{")).some(
        (line) => line.includes("GPU-00000003") && line.endsWith(" 333"),
      ),
    );
    expect((await nvidiaHealth())?.ok).toBe(true);
    expect(await late()).toBe("1");
  },
);

test(
  "SIGTERM ends the process cleanly within its grace while a call hangs",
  { timeout: 60_000 },
  async () => {
    made().stub.script("gpus 8", "3.power.hang 1");
    await eventually("the hang to be named", async () => (await nvidiaHealth())?.ok === false);
    process.kill(made().agent.pid, "SIGTERM");
    const exit = await made().agent.waitForExit(GRACE_MS);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(made().agent.output()).toContain("stopping");
  },
);

test(
  "stats and doctor end by themselves on a driver that answers, and doctor also on one that hangs",
  { timeout: 60_000 },
  async () => {
    made().stub.script("gpus 2");
    const source = ["--source", `nvidia:?library=${made().stub.library}&fallback=never`];
    const stats = await runGpulse(["stats", "--json", "--window", "500ms", ...source]);
    expect({ code: stats.code, stderr: stats.stderr }).toEqual({ code: 0, stderr: "" });
    expect((JSON.parse(stats.stdout) as { gpus: unknown[] }).gpus).toHaveLength(2);
    const well = await runGpulse(["doctor", ...source]);
    expect(well.stdout).toContain("2 × NVIDIA Stub 80GB");
    expect(well.code).toBe(0);
    made().stub.script("gpus 2", "init.hang 1");
    const hung = await runGpulse(["doctor", ...source], { timeoutMs: 30_000 });
    expect(hung.stdout).toContain("does not answer");
  },
);
