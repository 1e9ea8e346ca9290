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
  ["a pattern and no output", { phasePattern: "a", capture: false }, /need the captured output/],
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
  // Work cannot exceed the speed at boost clock.
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

test("repeats make a file each, show their spread, and say how many more are needed", async () => {
  const { code, said } = await run({ label: "r", repeats: "3", work: "40", baseline: "0" }, [
    node,
    "-e",
    "setTimeout(() => {}, 300)",
  ]);
  expect(code).toBe(0);
  expect(readdirSync(folder).toSorted()).toEqual([
    "a-1.gpulserun",
    "a-2.gpulserun",
    "a-3.gpulserun",
  ]);
  expect(said.stderr).toMatch(/gpulse: 3 repeats: performance per watt .*standard deviation/);
  expect(said.stderr).toMatch(/to tell 1 % apart|1 % would take/);
  expect(said.stderr).toContain("warm-up and outliers need 5 repeats");
});

test("repeats end at the first failure with its code; as JSON they are a list", async () => {
  const program = `const fs = require("fs"); const seen = fs.existsSync(process.argv[1]); fs.writeFileSync(process.argv[1], ""); process.exitCode = seen ? 4 : 0`;
  const { code, said } = await run({ repeats: "5", baseline: "0", json: true }, [
    node,
    "-e",
    program,
    path.join(folder, "seen"),
  ]);
  expect(code).toBe(4);
  const { runs, repeats, advice } = JSON.parse(said.stdout) as {
    runs: { exitCode: number; seal: string }[];
    repeats: { used: number };
    advice?: object;
  };
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 4]);
  expect(runs.every(({ seal }) => seal.length === 64)).toBe(true);
  expect(repeats.used).toBe(2);
  expect(advice).toBeUndefined();
});

test.each(["0", "1.5", "many", "101"])("--repeats %s is refused", async (repeats) => {
  await expect(run({ repeats }, [node, "-e", ""])).rejects.toThrow(/--repeats must be a whole/);
});

test("a phase of the output is measured alone: its work, its energy, its time", async () => {
  const program = `
    const after = (ms, ...lines) => setTimeout(() => lines.forEach((line) => console.log(line)), ms);
    after(0, "== warm-up", "did 5 images");
    after(600, "== measure");
    after(900, "did 10 images");
    after(1400, "did 20 images", "== clean-up", "did 40 images");
    after(2000, "bye");`;
  const { code, said, out } = await run(
    {
      unit: "images",
      workPattern: "did (\\d+) images",
      workTake: "sum",
      phasePattern: "^== (\\S+)",
      measurePhase: "measure",
    },
    [node, "-e", program],
  );
  expect(code).toBe(0);
  const { run: kept } = await readRunFile(out);
  const [, measure] = kept.phases;
  expect(kept.result).toMatchObject({ tool: "phase measure of the output" });
  expect(kept.result?.window).toEqual([measure?.startMs, measure?.endMs]);
  expect(kept.work?.amount).toBe(30);
  const whole = kept.durationSeconds;
  const seconds = ((measure?.endMs ?? 0) - (measure?.startMs ?? 0)) / 1_000;
  expect(seconds).toBeLessThan(whole);
  expect(said.stderr).toContain("result of phase measure of the output, measured");
});

test.each([
  [{ measurePhase: "mesure" }, 'no phase "mesure", only measure'],
  [{ measurePhase: "measure", phasePattern: "never" }, ""],
])("a phase that is not marked gives no throughput, and says so: %j", async (flags, note) => {
  const program = `console.log("::phase measure::"); setTimeout(() => console.log("did 5 images"), 300)`;
  const { code, out } = await run({ workPattern: "did (\\d+) images", baseline: "0", ...flags }, [
    node,
    "-e",
    program,
  ]);
  expect(code).toBe(0);
  const { run: kept } = await readRunFile(out);
  if (note === "") {
    expect(kept.work?.amount).toBe(5);
    return;
  }
  expect(kept.work).toBeUndefined();
  expect(kept.result).toBeUndefined();
  expect(kept.notes.join(" ")).toContain(note);
});

test.each([
  [{ measurePhase: "a", result: "logs" }, /its own measured window/],
  [{ measurePhase: "a", capture: false }, /need the captured output/],
])("%j is refused", async (flags, message) => {
  await expect(run(flags, [node, "-e", ""])).rejects.toThrow(message);
});

test("a log that is cut, of another clock, or not there is not used, and the run is saved all the same", async () => {
  const event = (key: string, value: unknown) =>
    `:::MLLOG ${JSON.stringify({ key, value, metadata: {} })}`;
  const whole = [
    event("effective_scenario", "Offline"),
    event("power_begin", "01-01-2020 00:00:00.000"),
    event("power_end", "01-01-2020 00:01:00.000"),
    event("result_query_count", 1),
    event("generated_samples_per_query", 10),
    event("result_validity", "VALID"),
  ].join("\n");
  for (const [text, problem] of [
    [whole, "the clocks disagree, or it is of another run"],
    [whole.slice(0, -20), "truncated in its last line"],
    [whole.slice(0, 80), "truncated"],
    ["hello", "neither a log of LoadGen nor JSON"],
  ] as const) {
    const logs = mkdtempSync(path.join(folder, "logs-"));
    const write = `require("fs").writeFileSync(process.argv[1], process.argv[2])`;
    const log = path.join(logs, "mlperf_log_detail.txt");
    const { code, out } = await run({ result: logs, baseline: "0" }, [
      node,
      "-e",
      write,
      log,
      text,
    ]);
    expect(code).toBe(0);
    const { run: kept } = await readRunFile(out);
    expect([kept.work, kept.result]).toEqual([undefined, undefined]);
    expect(kept.notes.join(" ")).toContain(problem);
  }
});
