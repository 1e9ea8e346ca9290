import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import * as v from "valibot";
import { ensureBuild, program, runGpulse, startAgent } from "../../engines/program.ts";
import { statsSchema } from "../../src/agent/stats/schema.ts";

beforeAll(ensureBuild, 300_000);

test.for([[], ["up"], ["agent"], ["stats"], ["doctor"], ["pipe"], ["config"], ["config", "check"]])(
  "gpulse %j --help shows usage on standard output",
  async (args) => {
    const { code, stdout, stderr } = await runGpulse([...args, "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Usage: gpulse${args.length > 0 ? ` ${args.join(" ")}` : ""}`);
    if (args[0] !== "config" || args.length > 1) expect(stdout).toContain("Examples:");
    expect(stdout).not.toContain("\u001b[");
  },
);

test("stats reads the simulated machine and follows its schema", async () => {
  const { code, stdout } = await runGpulse([
    "stats",
    "--json",
    "--source",
    "sim:3",
    "--window",
    "1s",
  ]);
  expect(code).toBe(0);
  const stats = v.parse(statsSchema, JSON.parse(stdout));
  expect(stats.gpus).toHaveLength(3);
  expect(stats.simulated).toBe(true);
  for (const gpu of stats.gpus) {
    expect(gpu.simulated).toBe(true);
    expect(gpu.average_power.value).toBeGreaterThan(0);
    expect(gpu.average_power.samples).toBeGreaterThan(1);
    expect(gpu.memory_total.value).toBeGreaterThan(1e9);
  }
});

test("stats of a machine without a GPU says so and ends with 1", async () => {
  const { code, stderr } = await runGpulse([
    "stats",
    "--sysfs",
    "/nonexistent",
    "--procfs",
    "/nonexistent",
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain("no GPU found");
});

test("stats asks a running agent, and says what to do where none answers", async () => {
  const agent = await startAgent(["--source", "sim:2", "--log-level", "error"]);
  try {
    const { code, stdout } = await runGpulse(["stats", "--url", agent.url]);
    expect(code).toBe(0);
    expect(stdout).toContain("2 GPUs (simulated)");
  } finally {
    await agent.stop();
  }
  const gone = await runGpulse(["stats", "--url", agent.url]);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("No gpulse answers at")]);
});

test("doctor reports about every source; exit code 1 where no GPU can be read", async () => {
  const { code, stdout } = await runGpulse([
    "doctor",
    "--json",
    "--sysfs",
    "/nonexistent",
    "--procfs",
    "/nonexistent",
  ]);
  const report = JSON.parse(stdout) as { sources: { source: string; state: string }[] };
  expect(report.sources.map(({ source }) => source)).toContain("sim");
  expect(code).toBe(1);
  expect((await runGpulse(["doctor", "--source", "sim:8"])).code).toBe(0);
});

test("pipe prints the same bytes for the same seed and virtual time", async () => {
  const from = "sim:4?seed=7&speed=max&start=2026-01-01T00:00:00Z&duration=2m";
  const run = async (url: string): Promise<string> => {
    const { code, stdout, stderr } = await runGpulse(["pipe", "--from", url, "--host-name", "box"]);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const first = await run(from);
  expect(first.split("\n").length).toBeGreaterThan(100);
  expect(await run(from)).toBe(first);
  expect(await run(from.replace("seed=7", "seed=8"))).not.toBe(first);
});

test("a reader that closes the pipe ends it without an error", async () => {
  const line = `"${process.execPath}" "${program}" pipe --from 'sim:2?speed=max&duration=1d' | head -n 2`;
  const { status, stdout, stderr } = spawnSync("bash", ["-o", "pipefail", "-c", line], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([status, stdout.trim().split("\n").length, stderr]).toEqual([0, 2, ""]);
}, 90_000);
