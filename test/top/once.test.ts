// gpulse top for programs: one picture as JSON or CSV, from this machine, an agent and a hub alike.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse, startAgent } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

beforeAll(ensureBuild, 300_000);

interface Quantity {
  readonly value: number | null;
  readonly unit: string;
  readonly absent?: string;
}
interface Once {
  readonly schema: string;
  readonly simulated: boolean;
  readonly gpus: readonly {
    readonly uuid: string;
    readonly model: string;
    readonly simulated: boolean;
    readonly readings: Readonly<Record<string, Quantity>>;
    readonly limits: Readonly<Record<string, Quantity>>;
  }[];
  readonly processes: readonly { readonly pid: number | null; readonly workload: string | null }[];
}

async function once(...args: string[]): Promise<Once> {
  const { code, stdout, stderr } = await runGpulse(["top", "--once", "--json", ...args]);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Once;
}

function expectWhole({ schema, simulated, gpus, processes }: Once, count: number): void {
  expect([schema, simulated, gpus.length]).toEqual(["gpulse.top/1", true, count]);
  for (const { readings, limits, model } of gpus) {
    expect(model).toBe("NVIDIA H200");
    expect(readings["power"]).toMatchObject({ unit: "watts", value: expect.any(Number) as number });
    expect(readings["memory_used"]?.unit).toBe("bytes");
    expect(readings["utilization"]?.value).toBeLessThanOrEqual(1);
    expect(readings["fan"]).toEqual({ value: null, unit: "ratio", absent: "unsupported" });
    expect(limits["limit_slowdown"]).toEqual({ value: 89, unit: "celsius" });
  }
  expect(processes.length).toBeGreaterThan(0);
  expect(processes.every(({ pid, workload }) => pid === null && workload !== null)).toBe(true);
}

test("this machine, once, as JSON", async () => {
  expectWhole(await once("--source", "sim:3"), 3);
});

test("an agent, once, reports the same GPUs as its own machine", async () => {
  const agent = await startAgent(["--source", "sim:3", "--log-level", "error"]);
  try {
    const [here, there] = [await once("--source", "sim:3"), await once("--url", agent.url)];
    expectWhole(there, 3);
    expect(there.gpus.map(({ uuid }) => uuid)).toEqual(here.gpus.map(({ uuid }) => uuid));
  } finally {
    await agent.stop();
  }
});

test("a hub, once, reports its whole fleet", async () => {
  const data = mkdtempSync(path.join(tmpdir(), "gpulse-top-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["up", "--no-open", "--source", "sim:40", "--port", String(port), "--data", data];
  const hub = startProcess(process.execPath, [program, ...args, "--log-level", "error"]);
  try {
    await hub.waitForUrl(`${url}/-/ready`, 60_000);
    // Processes come with the slow readings.
    const reported = await waitUntil({ what: "the fleet", timeoutMs: 30_000 }, async () => {
      const seen = await once("--url", url);
      return seen.gpus.length === 40 && seen.processes.length > 0 ? seen : undefined;
    });
    expectWhole(reported, 40);
  } finally {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  }
}, 120_000);

test("as CSV: a line a GPU, units in the names, what is absent is empty", async () => {
  const { code, stdout } = await runGpulse(["top", "--once", "--csv", "--source", "sim:2"]);
  expect(code).toBe(0);
  const [head = "", ...lines] = stdout.trimEnd().split("\n");
  const names = head.split(",");
  expect(names).toEqual(expect.arrayContaining(["utilization_ratio", "power_watts", "fan_ratio"]));
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    const cells = line.split(",");
    expect(cells).toHaveLength(names.length);
    expect(Number(cells[names.indexOf("power_watts")])).toBeGreaterThan(0);
    expect(cells[names.indexOf("fan_ratio")]).toBe("");
  }
});

test("as text it is the screen without colours", async () => {
  const { code, stdout } = await runGpulse(["top", "--once", "--source", "sim:2", "--ascii"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/SIMULATED[\s\S]*GPU\^[\s\S]*H200/);
  expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/);
});

test.for([
  [[], "add --once"],
  [["--json"], "Add --once"],
  [["--once", "--json", "--csv"], "cannot be used with"],
  [["--theme", "neon"], "There are okabe"],
  [["--once", "--url", "nonsense"], "must be a URL"],
] as const)("gpulse top %j ends with 2 and says what to do", async ([args, says]) => {
  const { code, stderr } = await runGpulse(["top", ...args]);
  expect([code, stderr.includes(says)]).toEqual([2, true]);
});

test("where nobody answers it says so and ends with 1", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code, stderr } = await runGpulse(["top", "--url", url, "--once"]);
  expect([code, stderr.includes("No gpulse answers")]).toEqual([1, true]);
});

test("a machine without a GPU ends with 1 and names doctor", async () => {
  const none = ["--sysfs", "/nonexistent", "--procfs", "/nonexistent"];
  const { code, stderr } = await runGpulse(["top", "--once", ...none]);
  expect([code, stderr.includes("gpulse doctor")]).toEqual([1, true]);
});
