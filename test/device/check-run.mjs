#!/usr/bin/env node
// Holds `gpulse run` against a real workload: its own counts, nvidia-smi and the hardware's energy counter read beside it, what
// recording slows it by, and a guest that comes in the middle. Needs Node, the built dist/, node_modules/koffi and PyTorch.
//
//   node test/device/check-run.mjs OUT_DIR [--source nvidia:] [--seconds 7] [--repeats 3] [--dry]
//
// Writes eight files: check-run.json, check-run.md, report.html, compare.md, log.txt and three runs. About 200 s on one H200.
// With --dry nothing touches a GPU (--source 'sim:1?model=H200'): it only tries this program.

import { spawn } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    source: { type: "string", default: "nvidia:" },
    seconds: { type: "string", default: "7" },
    repeats: { type: "string", default: "3" },
    smi: { type: "string", default: "nvidia-smi" },
    python: { type: "string", default: "python3" },
    dry: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-run");
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-check-run-"));
const gpulse = [process.execPath, path.join(options.dist, "gpulse", "main.js")];
const workFile = fileURLToPath(new URL("work.py", import.meta.url));
const work = [options.python, workFile, ...(options.dry ? ["--dry"] : [])];
const seconds = Number(options.seconds);
const repeats = Number(options.repeats);

/** @type {{ what: string, measured: string, bound: string, ok: boolean }[]} */
const results = [];
const note = (
  /** @type {string} */ what,
  /** @type {string} */ measured,
  /** @type {string} */ bound,
  /** @type {boolean} */ ok,
) => {
  results.push({ what, measured, bound, ok });
  process.stdout.write(`${ok ? "ok  " : "BAD "} ${what}: ${measured} (${bound})\n`);
};
const percent = (/** @type {number} */ ratio) => `${(ratio * 100).toFixed(2)} %`;
const mean = (/** @type {readonly number[]} */ list) =>
  list.reduce((a, b) => a + b, 0) / list.length;
const median = (/** @type {readonly number[]} */ list) =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;

/** @param {readonly string[]} command */
function start(command) {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  child.stdout.on("data", (/** @type {Buffer} */ chunk) => (stdout += chunk.toString()));
  child.stderr.on("data", (/** @type {Buffer} */ chunk) =>
    appendFileSync(path.join(out, "log.txt"), chunk),
  );
  const ended = new Promise((/** @type {(code: number | null) => void} */ resolve) =>
    child.once("close", resolve),
  );
  return { child, ended, text: () => stdout };
}

/** @param {readonly string[]} command */
async function finish(command) {
  const running = start(command);
  return { code: await running.ended, stdout: running.text() };
}

/** @typedef {{ products: number, flop: number, seconds: number, beginSeconds: number, endSeconds: number, wholeJoules: number | null, measuredJoules: number | null }} Said */
const saidBy = (/** @type {string} */ text) =>
  /** @type {Said} */ (JSON.parse(text.trim().split("\n").at(-1) ?? "{}"));

/** nvidia-smi beside it all, five times a second. */
const smi = options.dry
  ? undefined
  : start([
      options.smi,
      "--query-gpu=timestamp,power.draw.instant,utilization.gpu,temperature.gpu,clocks.sm",
      "--format=csv,noheader,nounits",
      "-lms",
      "200",
    ]);
function smiBetween(/** @type {number} */ fromMs, /** @type {number} */ toMs) {
  return (smi?.text() ?? "")
    .split("\n")
    .map((line) => line.split(", "))
    .map(([time = "", watts = ""]) => ({
      timeMs: Date.parse(time.replaceAll("/", "-").replace(" ", "T")),
      watts: Number(watts),
    }))
    .filter(({ timeMs, watts }) => timeMs >= fromMs && timeMs <= toMs && Number.isFinite(watts))
    .map(({ watts }) => watts);
}

/** @param {string} file */
async function powerOf(file, /** @type {number} */ fromMs, /** @type {number} */ toMs) {
  const { stdout } = await finish([...gpulse, "pipe", "--from", `run:${file}`, "--to", "stdout:"]);
  /** @type {number[]} */
  const watts = [];
  for (const line of stdout.split("\n").filter((one) => one.startsWith("{"))) {
    const { time, readings } =
      /** @type {{ time: string, readings: { name: string, value: number }[] }} */ (
        JSON.parse(line)
      );
    const at = Date.parse(time);
    const reading = readings.find(({ name }) => name === "gpu_power_instant_watts");
    if (reading !== undefined && at >= fromMs && at <= toMs) watts.push(reading.value);
  }
  return watts;
}

/** @param {string} label @param {number} number @param {readonly string[]} args */
async function record(label, number, args) {
  const file = path.join(folder, `${label}-${number}.gpulserun`);
  const running = start([
    ...gpulse,
    "run",
    "--source",
    options.source,
    "--label",
    label,
    "--unit",
    "products",
    "--work-pattern",
    "did (\\d+) products",
    "--baseline",
    "2s",
    "--out",
    file,
    "--",
    ...work,
    ...args,
  ]);
  return { file, running };
}

/**
 * What a run's file says.
 * @param {string} file
 */
async function shown(file) {
  const { stdout } = await finish([...gpulse, "runs", "show", "--json", file]);
  return /** @type {import("../../src/runs/run.ts").Run} */ (JSON.parse(stdout));
}

/** @type {Record<string, unknown>[]} */
const runs = [];
/** @type {string[]} */
const files = [];
const kinds = [
  ["bf16", 8192],
  ["fp32", 8192],
];
for (let repeat = 1; repeat <= repeats; repeat++) {
  for (const [dtype, size] of kinds) {
    const label = `matmul-${dtype}`;
    const { file, running } = await record(label, repeat, [
      "--dtype",
      String(dtype),
      "--size",
      String(size),
      "--seconds",
      String(seconds),
    ]);
    const code = await running.ended;
    const said = saidBy(running.text());
    const run = await shown(file);
    files.push(file);
    const [device] = run.devices;
    const { counterJoules = Number.NaN, integratedJoules = Number.NaN } = device?.energy ?? {};
    const own = await powerOf(file, said.beginSeconds * 1_000, said.endSeconds * 1_000);
    const others = smiBetween(said.beginSeconds * 1_000, said.endSeconds * 1_000);
    const name = `${label} #${repeat}`;
    note(`${name}: exit code`, String(code), "0", code === 0);
    note(
      `${name}: work read from the output`,
      String(run.work?.amount),
      `${said.products} by its own count`,
      run.work?.amount === said.products,
    );
    note(`${name}: verdict`, run.verdict.verdict, "same", run.verdict.verdict === "same");
    if (said.measuredJoules !== null && device !== undefined) {
      // Over the seconds it computed: the process still ends after it has read the counter, and that is part of the run.
      const measured = mean(own) * (said.endSeconds - said.beginSeconds);
      const byCounter = measured / said.measuredJoules - 1;
      const integrated = integratedJoules / counterJoules - 1;
      note(
        `${name}: energy while it computed against the counter read by the workload`,
        `${measured.toFixed(1)} J, ${percent(byCounter)} off`,
        "1 %",
        Math.abs(byCounter) < 0.01,
      );
      note(
        `${name}: integrated energy against the counter`,
        `${integratedJoules.toFixed(1)} J, ${percent(integrated)} off`,
        "1 %",
        Math.abs(integrated) < 0.01,
      );
    }
    if (others.length > 5) {
      const off = mean(own) / mean(others) - 1;
      note(
        `${name}: mean power against nvidia-smi`,
        `${mean(own).toFixed(1)} W against ${mean(others).toFixed(1)} W, ${percent(off)} off`,
        "1.5 %",
        Math.abs(off) < 0.015,
      );
    }
    note(
      `${name}: samples`,
      `${run.overhead.samplesTaken} of ${run.overhead.samplesWanted}`,
      "98 %",
      run.overhead.samplesTaken >= 0.98 * run.overhead.samplesWanted - 1,
    );
    runs.push({
      name,
      said,
      energy: device?.energy,
      overhead: run.overhead,
      watts: mean(own),
      smiWatts: others.length === 0 ? null : mean(others),
    });
  }
}

// A guest comes two seconds into the measured part and stays about four.
const guestRun = await record("guest", 1, ["--dtype", "bf16", "--seconds", String(seconds + 2)]);
while (
  !guestRun.running.text().includes("::phase measure::") &&
  guestRun.running.child.exitCode === null
)
  await sleep(50);
await sleep(500);
const guest = start([...work, "--dtype", "bf16", "--size", "2048", "--seconds", "3"]);
await guest.ended;
await guestRun.running.ended;
const visited = await shown(guestRun.file);
const found = visited.verdict.foreign.map(({ pid }) => pid);
note(
  "a second process in the middle of a run",
  visited.verdict.changes.map(({ sentence }) => sentence).join(" ") || "nothing found",
  `pid ${guest.child.pid}, and no other`,
  options.dry ||
    (visited.verdict.verdict === "loaded" && found.length === 1 && found[0] === guest.child.pid),
);
smi?.child.kill();

// The same work over and over in one process, with the recorder beside it and without, in turns.
const windows = 4;
const windowSeconds = 4;
const chunks = start([
  ...work,
  "--dtype",
  "bf16",
  "--chunks",
  String(windows * 2 * (windowSeconds + 1.2) + 4),
]);
while (!chunks.text().includes("ready") && chunks.child.exitCode === null) await sleep(50);
await sleep(2_000);
/** @type {[number, number][]} */
const recorded = [];
/** @type {[number, number][]} */
const alone = [];
for (let window = 0; window < windows; window++) {
  alone.push([Date.now(), Date.now() + windowSeconds * 1_000]);
  await sleep(windowSeconds * 1_000);
  const file = path.join(folder, `beside-${window}.gpulserun`);
  const beside = start([
    ...gpulse,
    "run",
    "--source",
    options.source,
    "--label",
    "beside",
    "--baseline",
    "0",
    "--quiet",
    "--out",
    file,
    "--",
    "sleep",
    String(windowSeconds),
  ]);
  await beside.ended;
  const { startedMs, endedMs } = await shown(file);
  recorded.push([startedMs, endedMs]);
}
chunks.child.kill();
await chunks.ended;
const times = chunks
  .text()
  .split("\n")
  .filter((line) => line.startsWith("["))
  .flatMap((line) => {
    try {
      return [/** @type {[number, number]} */ (JSON.parse(line))];
    } catch {
      return [];
    }
  });
const within = (/** @type {readonly [number, number][]} */ spans) =>
  times
    .filter(([at, took]) =>
      spans.some(([from, to]) => at * 1_000 >= from && (at + took) * 1_000 <= to),
    )
    .map(([, took]) => took);
const [withRecorder, without] = [within(recorded), within(alone)];
const slowed = median(withRecorder) / median(without) - 1;
note(
  "slow-down by recording, medians of equal pieces of work in turns",
  `${percent(slowed)} (${withRecorder.length} pieces recorded, ${without.length} alone)`,
  "0.5 %",
  slowed < 0.005,
);

const compared = await finish([
  ...gpulse,
  "compare",
  ...files,
  "--html",
  path.join(out, "report.html"),
  "--markdown",
  path.join(out, "compare.md"),
]);
note("compare", `exit code ${compared.code}`, "0", compared.code === 0);

for (const [from, to] of [
  [files[0], "matmul-bf16-1"],
  [files[1], "matmul-fp32-1"],
  [guestRun.file, "guest"],
])
  if (from !== undefined && to !== undefined) copyFileSync(from, path.join(out, `${to}.gpulserun`));
writeFileSync(
  path.join(out, "check-run.json"),
  `${JSON.stringify({ results, runs, slowed, withRecorder, without }, null, 2)}\n`,
);
writeFileSync(
  path.join(out, "check-run.md"),
  `| what | measured | bound | held |\n|---|---|---|---|\n${results.map(({ what, measured, bound, ok }) => `| ${what} | ${measured} | ${bound} | ${ok ? "yes" : "NO"} |`).join("\n")}\n`,
);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(
  readFileSync(path.join(out, "compare.md"), { encoding: "utf8", flag: "a+" }).slice(0, 4_000),
);
process.exit(results.every(({ ok }) => ok) ? 0 : 1);
