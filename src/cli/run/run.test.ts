import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { radeonTree } from "../../../test/captures/amd-card.ts";
import { writeTree } from "../../../test/captures/tree.ts";
import type { CommandIo } from "../command/io.ts";
import { readRunFile } from "../../runs/file/file.ts";
import { runStress } from "../stress/run.ts";
import { slowdown } from "./overhead.ts";
import type { RunFlags } from "./options.ts";
import { runRun } from "./run.ts";
import { withRunMetrics } from "./sources.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "gpulse-run-"))));
afterEach(() => rmSync(folder, { recursive: true }));

function outside(env: Record<string, string> = {}) {
  const said = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") =>
    new PassThrough().on("data", (chunk: Buffer) => (said[name] += chunk.toString()));
  const io: CommandIo = {
    env: { ...process.env, ...env },
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    version: "0.0.0-test",
    stopped: () => new Promise(() => {}),
  };
  return { io, said };
}

async function run(flags: RunFlags, command: string[], env: Record<string, string> = {}) {
  const { io, said } = outside(env);
  const out = path.join(folder, "a.gpulserun");
  const given = {
    source: ["sim:2?model=RX7800XT&seed=3"],
    baseline: "300ms",
    out,
    ...flags,
  };
  const code = await runRun(command, given, io);
  return { code, said, out };
}

const node = process.execPath;

test("a run keeps the command's words and code, its work and phases, and the GPUs beside it", async () => {
  const program = `console.log("::phase load::"); setTimeout(() => { console.log("did 40 images"); console.error("note"); process.exitCode = 3 }, 1200)`;
  const { code, said, out } = await run(
    { label: "a", unit: "images", workPattern: "did (\\d+) images" },
    [node, "-e", program],
  );
  expect(code).toBe(3);
  expect(said.stdout).toBe("::phase load::\ndid 40 images\n");
  expect(said.stderr).toMatch(/^note\ngpulse: a: /);
  const { run: kept, trace, before, after, output } = await readRunFile(out);
  expect(kept).toMatchObject({
    label: "a",
    exitCode: 3,
    complete: true,
    work: { amount: 40, unit: "images", from: "pattern" },
    samplingMs: 100,
    visible: { hidden: [] },
  });
  expect(kept.phases.map(({ name }) => name)).toEqual(["load"]);
  expect(kept.devices.map(({ power }) => power)).toEqual(["board", "board"]);
  expect(kept.devices[0]?.energy.integratedJoules).toBeGreaterThan(1);
  expect(kept.overhead.samplesTaken).toBeGreaterThan(5);
  const [gpu] = trace.values();
  expect(gpu?.timeMs[0]).toBeLessThan(kept.startedMs);
  expect(gpu?.timeMs.at(-1)).toBeGreaterThan(kept.endedMs);
  expect(before).toMatchObject({ format: "gpulse-snapshot" });
  expect(after).toMatchObject({ format: "gpulse-snapshot" });
  expect(Buffer.from(output).toString()).toContain("did 40 images");
  expect(readdirSync(folder)).toEqual(["a.gpulserun"]);
});

test("only the GPUs the command can see are recorded, and what hid the rest is noted", async () => {
  const { out } = await run({}, [node, "-e", ""], { HIP_VISIBLE_DEVICES: "1" });
  const { run: kept, trace } = await readRunFile(out);
  expect(kept.devices.map(({ index }) => index)).toEqual([1]);
  expect([...trace.keys()]).toEqual(kept.devices.map(({ uuid }) => uuid));
  expect(kept.visible.variables).toEqual({ HIP_VISIBLE_DEVICES: "1" });
  expect(kept.visible.hidden).toHaveLength(1);
});

test("a command that is not there gives 127 and leaves nothing behind", async () => {
  const { code, said } = await run({}, ["/no/such/program"]);
  expect(code).toBe(127);
  expect(said.stderr).toContain("there is no such program");
  expect(readdirSync(folder)).toEqual([]);
});

test.each<[string, RunFlags, RegExp]>([
  ["two kinds of work", { work: "1", workMetric: "x" }, /Pass only one of/],
  ["no number", { work: "many" }, /number above 0/],
  ["a pattern without a group", { workPattern: "\\d+" }, /one group/],
  ["a broken pattern", { workPattern: "(" }, /not a regular expression/],
  ["a pattern and no output", { phasePattern: "a", capture: false }, /needs the captured output/],
  ["hosts and no hub", { hosts: "b" }, /--with-hub/],
  ["a stream", { source: ["sim:1?speed=max"] }, /is a stream/],
])("%s is refused before anything starts", async (_name, flags, says) => {
  await expect(run(flags, [node, "-e", ""])).rejects.toThrow(says);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["nvidia:", "nvidia:?processes=true&slow-every=1s"],
  ["nvidia:?processes=false", "nvidia:?processes=false&slow-every=1s"],
  ["sim:8", "sim:8"],
])("%s becomes %s", (given, want) => expect(withRunMetrics(given)).toBe(want));

test("a slow-down is compared with the noise of runs without gpulse", () => {
  const { slowdownRatio, noiseRatio } = slowdown(
    [100, 100, 102, 98, 100],
    [105, 105, 105, 104, 106],
  );
  expect(slowdownRatio).toBeCloseTo(0.05, 9);
  expect(noiseRatio).toBeLessThan(0.02);
});

test("equal work costs the card that draws more watts more energy, saturated cards do what their clocks allow", async () => {
  const stress = async (model: string, rate?: string) => {
    const { io } = outside();
    await runStress(
      {
        source: `sim:?model=${model}`,
        folder,
        repeats: "1",
        for: "20s",
        warmup: "60s",
        label: `${model}${rate ?? ""}`,
        ...(rate === undefined ? {} : { rate }),
      },
      io,
    );
    const file = readdirSync(folder).find((name) => name.startsWith(`${model}${rate ?? ""}-`));
    const { run: kept } = await readRunFile(path.join(folder, file ?? ""));
    rmSync(path.join(folder, file ?? ""));
    return { work: kept.work?.amount ?? 0, joules: kept.devices[0]?.energy.integratedJoules ?? 0 };
  };
  const [big, small] = [await stress("RX7800XT", "45"), await stress("RX7700XT", "45")];
  expect(big.work).toBeCloseTo(900, 3);
  expect(small.work).toBeCloseTo(900, 3);
  expect(big.work / big.joules > small.work / small.joules).toBe(big.joules < small.joules);
  const full = await stress("RX7800XT");
  expect(full.work).toBeGreaterThan(1_200);
  // Nothing is faster than its speed at boost.
  expect(full.work).toBeLessThanOrEqual(75 * 20);
});

test("a run without a baseline says of an unchanged machine that it is the same", async () => {
  const sysfs = writeTree(radeonTree);
  const { out, said } = await run({ source: ["amd:"], sysfs, baseline: "0" }, [node, "-e", ""]);
  const { run: kept } = await readRunFile(out);
  expect([kept.verdict.verdict, kept.verdict.changes, kept.verdict.unproven]).toEqual([
    "same",
    [],
    undefined,
  ]);
  expect(said.stderr).toContain("the system was the same before and after");
});

test("a GPU that falls asleep during a run is not comparable, and the reason is shown", async () => {
  const sysfs = writeTree(radeonTree);
  const status = path.join(sysfs, "class/drm/card1/device/power/runtime_status");
  const { out, said } = await run({ source: ["amd:"], sysfs, baseline: "0" }, [
    node,
    "-e",
    `require("node:fs").writeFileSync(${JSON.stringify(status)}, "suspended\\n")`,
  ]);
  const { run: kept } = await readRunFile(out);
  expect([kept.verdict.verdict, kept.verdict.changes]).toEqual(["same", []]);
  expect(said.stderr).toMatch(/not comparable \(\d+\):\n.*the GPU was asleep\./);
});
