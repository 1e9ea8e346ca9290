#!/usr/bin/env node
// Holds the serving figures against a decoder of known prompt and answer lengths on a real GPU: joules per token at five batch
// sizes against the hardware's counter read past gpulse, the split of prefill and decode against runs that do only one, and
// the energy of a LoadGen window against an integration by hand. Needs Node, the built dist/, node_modules/koffi and PyTorch;
// LoadGen where `mlperf_loadgen` can be imported.
//
//   node test/device/check-serving.mjs OUT_DIR [--source nvidia:] [--seconds 32] [--mixed 220] [--parts batches,split,loadgen] [--dry]
//
// Writes check-serving.json, check-serving.md and programs.txt. About 10 minutes on one H200. With --dry nothing touches a GPU
// (--source 'sim:1?model=H200'): it only tries this program.

import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { freePort } from "./machine.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    source: { type: "string", default: "nvidia:" },
    /** Of each batch size; the hub's window is 30 s. */
    seconds: { type: "string", default: "32" },
    /** Of the mixed work the split is found from: at least 20 intervals of 5 s, from one reading of the energy counter to the next. */
    mixed: { type: "string", default: "260" },
    /** Any of them: batches, split, loadgen. */
    parts: { type: "string", default: "batches,split,loadgen" },
    python: { type: "string", default: "python3" },
    dry: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-serving");
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-check-serving-"));
const log = createWriteStream(path.join(out, "programs.txt"));
const gpulse = [process.execPath, path.join(options.dist, "gpulse", "main.js")];
const seconds = Number(options.seconds);
const parts = new Set(options.parts.split(","));
const script = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));

/** @type {{ what: string, measured: string, bound: string, ok: boolean }[]} */
const results = [];
/** @type {Record<string, unknown>} */
const raw = {};
const save = () => {
  writeFileSync(
    path.join(out, "check-serving.json"),
    `${JSON.stringify({ results, raw }, null, 2)}\n`,
  );
  const rows = results.map(
    ({ what, measured, bound, ok }) =>
      `| ${what} | ${measured} | ${bound} | ${ok ? "yes" : "NO"} |`,
  );
  const head = "| what | measured | bound | held |\n|---|---|---|---|\n";
  writeFileSync(path.join(out, "check-serving.md"), `${head}${rows.join("\n")}\n`);
};
const note = (
  /** @type {string} */ what,
  /** @type {string} */ measured,
  /** @type {string} */ bound,
  /** @type {boolean} */ ok,
) => {
  results.push({ what, measured, bound, ok });
  process.stdout.write(`${ok ? "ok  " : "BAD "} ${what}: ${measured} (${bound})\n`);
  save();
};
const percent = (/** @type {number} */ ratio) => `${(ratio * 100).toFixed(2)} %`;

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** @param {readonly string[]} command */
function start(command) {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr.on("data", (chunk) => log.write(chunk));
  const ended = new Promise((/** @type {(code: number | null) => void} */ resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { child, ended, stop, text: () => stdout };
}

/** @param {string} url */
const json = async (url) => (await fetch(url)).json();

const serverPort = await freePort();
const server = `http://127.0.0.1:${serverPort}`;
const decoder = start([
  options.python,
  script("decoder.py"),
  "--port",
  String(serverPort),
  ...(options.dry ? ["--dry"] : []),
]);
while (!decoder.text().includes("ready")) {
  if (decoder.child.exitCode !== null)
    throw new Error("decoder.py did not start: see programs.txt");
  await sleep(100);
}

/** @typedef {{ promptTokens: number, generatedTokens: number, requests: number, seconds: number, joules: number | null }} Stats */
const stats = async () => /** @type {Stats} */ (await json(`${server}/stats`));

/** @param {number} prompt @param {number} answer */
async function complete(prompt, answer) {
  const response = await fetch(`${server}/v1/completions`, {
    method: "POST",
    body: JSON.stringify({ prompt_tokens: prompt, max_tokens: answer }),
  });
  if (!response.ok) throw new Error(`the decoder answered ${response.status}`);
  await response.arrayBuffer();
}

/** A wave of equal requests, computed as one batch. @param {number} batch @param {number} prompt @param {number} answer */
const wave = (batch, prompt, answer) =>
  Promise.all(Array.from({ length: batch }, () => complete(prompt, answer)));

/** Waves one after another for this long. @param {number} forSeconds @param {() => Promise<unknown>} one */
async function repeat(forSeconds, one) {
  const untilMs = performance.now() + forSeconds * 1_000;
  while (performance.now() < untilMs) await one();
}

/** A hub that reads the GPU and scrapes the decoder, each once a second. @param {string} name */
async function startHub(name) {
  const config = path.join(folder, `${name}.yml`);
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        { job_name: "llm", static_configs: [{ targets: [`127.0.0.1:${serverPort}`] }] },
      ],
    }),
  );
  const port = await freePort();
  const hub = start([
    ...gpulse,
    "up",
    `--source=${options.source}`,
    "--interval=1s",
    `--port=${port}`,
    `--data=${path.join(folder, name)}`,
    `--prometheus-config=${config}`,
    "--no-open",
  ]);
  const url = `http://127.0.0.1:${port}`;
  for (let turn = 0; ; turn++) {
    const ready = await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) break;
    if (turn > 300 || hub.child.exitCode !== null)
      throw new Error(`the hub did not start: see programs.txt\n${hub.text()}`);
    await sleep(100);
  }
  const serving = async () => {
    const found = /** @type {import("../../src/view/serving/figures.ts").Serving} */ (
      await json(`${url}/api/serving?window=30s`)
    );
    return { timeMs: found.timeMs, replica: found.replicas[0] };
  };
  /** The samples of the last ten minutes, to look into a figure afterwards. @param {string} selector */
  const samples = async (selector) => {
    const query = encodeURIComponent(`${selector}[10m]`);
    const { data } = /** @type {{ data?: { result?: unknown } }} */ (
      await json(`${url}/api/v1/query?query=${query}`)
    );
    return data?.result;
  };
  return { serving, samples, stop: hub.stop };
}

/** @typedef {import("../../src/view/serving/figures.ts").ServingReplica} Replica */
/** @param {Replica | undefined} replica @param {keyof Replica["figures"]} name */
function valueOf(replica, name) {
  const figure = replica?.figures[name];
  return figure !== undefined && "value" in figure ? figure.value : Number.NaN;
}

/** What the decoder counted between two looks, with the hardware's counter. @param {Stats} from @param {Stats} to */
const between = (from, to) => ({
  seconds: to.seconds - from.seconds,
  promptTokens: to.promptTokens - from.promptTokens,
  generatedTokens: to.generatedTokens - from.generatedTokens,
  joules: (to.joules ?? Number.NaN) - (from.joules ?? Number.NaN),
});

/** The decoder's counts four times a second. @param {number} forSeconds */
async function watch(forSeconds) {
  const course = [await stats()];
  for (let turn = 0; turn < 4 * forSeconds; turn++) {
    await sleep(250);
    course.push(await stats());
  }
  return course;
}

/** @param {readonly Stats[]} course @param {number} at */
function statsAt(course, at) {
  const next = course.findIndex((one) => one.seconds >= at);
  const [left, right] = [course[next - 1], course[next]];
  if (left === undefined || right === undefined) throw new Error("BUG: not within the course");
  const share = (at - left.seconds) / (right.seconds - left.seconds);
  const of = (/** @type {(one: Stats) => number} */ get) =>
    get(left) + share * (get(right) - get(left));
  return {
    seconds: at,
    promptTokens: of((one) => one.promptTokens),
    generatedTokens: of((one) => one.generatedTokens),
    requests: of((one) => one.requests),
    joules: of((one) => one.joules ?? Number.NaN),
  };
}

// Joules per token at five batch sizes, in a steady state, over the very seconds of the hub's window.
if (parts.has("batches")) {
  const batches = await startHub("batches");
  await wave(1, 128, 8);
  for (const batch of [1, 4, 16, 32, 64]) {
    const over = new AbortController();
    const load = (async () => {
      while (!over.signal.aborted) await wave(batch, 64, 16);
    })();
    await sleep(2_000);
    const course = await watch(seconds);
    const { timeMs, replica } = await batches.serving();
    course.push(...(await watch(1)));
    over.abort();
    await load;
    const truth = between(statsAt(course, timeMs / 1_000 - 30), statsAt(course, timeMs / 1_000));
    raw[`batch ${batch}`] = { truth, figures: replica?.figures };
    const rate = valueOf(replica, "generatedTokens");
    const tokensOff = rate / (truth.generatedTokens / truth.seconds) - 1;
    note(
      `batch ${batch}: generated tokens per second`,
      `${rate.toFixed(1)}, ${percent(tokensOff)} off`,
      "1 %",
      Math.abs(tokensOff) < 0.01,
    );
    const joules = valueOf(replica, "joulesPerGenerated");
    const joulesOff = joules / (truth.joules / truth.generatedTokens) - 1;
    note(
      `batch ${batch}: joules per generated token against the counter`,
      `${joules.toPrecision(4)} J, ${percent(joulesOff)} off`,
      "1 %",
      options.dry || Math.abs(joulesOff) < 0.01,
    );
  }
  const gpus = (await batches.serving()).replica?.gpus;
  const match = gpus === undefined || "absent" in gpus ? "no GPU" : gpus.by;
  note("the server's GPU", `found by its ${match}`, "port", options.dry || match === "port");
  await batches.stop();
}

// The split: prompts alone, answers alone, then both in a mix that changes.
const promptWave = () => wave(16, 1_024, 1);
const answerWave = () => wave(32, 1, 96);
/** In slices of a second and a quarter, busy for these shares: the GPU is as warm and as high in its clocks in one part as in another. @param {number} forSeconds @param {number} prompts @param {number} answers */
async function sliced(forSeconds, prompts, answers) {
  const untilMs = performance.now() + forSeconds * 1_000;
  while (performance.now() < untilMs) {
    const endMs = performance.now() + 1_250;
    await repeat(1.25 * prompts, promptWave);
    await repeat(1.25 * answers, answerWave);
    await sleep(Math.max(0, endMs - performance.now()));
  }
}
/** @param {number} prompts @param {number} answers */
async function alone(prompts, answers) {
  await sliced(1, prompts, answers);
  const from = await stats();
  await sliced(8, prompts, answers);
  return between(from, await stats());
}
/**
 * Runs that do only one, at two paces: what they used above the power at rest, over their tokens.
 * @param {"promptTokens" | "generatedTokens"} kind @param {number} idleWatts @param {(pace: number) => ReturnType<typeof alone>} at
 */
async function joulesAlone(kind, idleWatts, at) {
  const runs = [await at(0.3), await at(0.9)];
  raw[`only ${kind}`] = runs;
  const total = (/** @type {(run: (typeof runs)[number]) => number} */ of) =>
    runs.reduce((sum, run) => sum + of(run), 0);
  return total((run) => run.joules - idleWatts * run.seconds) / total((run) => run[kind]);
}

if (parts.has("split")) {
  await sleep(3_000);
  const atRest = await stats();
  await sleep(10_000);
  const rest = between(atRest, await stats());
  const idleWatts = rest.joules / rest.seconds;
  const perPrompt = await joulesAlone("promptTokens", idleWatts, (pace) => alone(pace, 0));
  const perAnswer = await joulesAlone("generatedTokens", idleWatts, (pace) => alone(0, pace));
  const mixed = await startHub("mixed");
  /** Shares of prompts and of answers, ten seconds each; between them the GPU rests. Neither follows the other. */
  const shares = [
    [0.1, 0.8],
    [0.7, 0.1],
    [0.1, 0.1],
    [0.4, 0.4],
    [0.8, 0],
    [0, 0.5],
    [0.5, 0.2],
    [0.2, 0.6],
    [0.3, 0],
    [0, 0.9],
    [0.6, 0.3],
    [0, 0],
    [0, 0],
  ];
  const mixedUntilMs = performance.now() + Number(options.mixed) * 1_000;
  for (let turn = 0; performance.now() < mixedUntilMs; turn++) {
    const [prompts = 0, answers = 0] = shares[turn % shares.length] ?? [];
    await sliced(10, prompts, answers);
  }
  const split = (await mixed.serving()).replica?.energySplit;
  const samples = await mixed.samples(
    '{__name__=~"gpu_energy_joules_total|gpu_power_.*watts|vllm:(prompt|generation)_tokens_total"}',
  );
  await mixed.stop();
  raw["split"] = { idleWatts, perPrompt, perAnswer, split, samples };
  if (split === undefined || "absent" in split) {
    note(
      "split of prefill and decode",
      split?.absent ?? "no server was found",
      "found",
      options.dry,
    );
  } else {
    note(
      "idle power beside the counter's at rest",
      `${split.idleWatts.value.toFixed(1)} ± ${split.idleWatts.standardError.toFixed(1)} W, ${percent(split.idleWatts.value / idleWatts - 1)} off`,
      "5 %",
      options.dry || Math.abs(split.idleWatts.value / idleWatts - 1) < 0.05,
    );
    for (const [what, found, truth] of /** @type {const} */ ([
      ["prompt", split.joulesPerPromptToken, perPrompt],
      ["generated", split.joulesPerGeneratedToken, perAnswer],
    ])) {
      const off = found.value / truth - 1;
      note(
        `joules per ${what} token by regression against runs of these alone`,
        `${found.value.toPrecision(4)} ± ${found.standardError.toPrecision(2)} J against ${truth.toPrecision(4)} J, ${percent(off)} off`,
        "5 %",
        options.dry || Math.abs(off) < 0.05,
      );
    }
  }
}

// LoadGen's window, by `gpulse run` and by hand from the raw readings.
if (parts.has("loadgen")) {
  const logs = path.join(folder, "logs");
  mkdirSync(logs);
  const file = path.join(folder, "loadgen.gpulserun");
  const recorded = start([
    ...gpulse,
    "run",
    `--source=${options.source}`,
    "--baseline=2s",
    `--result=${logs}`,
    `--out=${file}`,
    "--",
    options.python,
    script("loadgen_http.py"),
    logs,
    server,
    "256",
    "64",
    "1024",
    "15",
  ]);
  const code = await recorded.ended;
  if (code === 0) {
    const show = start([...gpulse, "runs", "show", "--json", file]);
    await show.ended;
    const run = /** @type {import("../../src/runs/run.ts").Run} */ (JSON.parse(show.text()));
    const dump = start([...gpulse, "pipe", "--from", `run:${file}`, "--to", "stdout:"]);
    await dump.ended;
    const byHand = integrate(dump.text(), run);
    const energy = run.devices[0]?.energy;
    const own = energy?.integratedJoules ?? Number.NaN;
    raw["loadgen"] = { work: run.work, energy, byHand };
    note(
      "LoadGen's window: energy against an integration by hand",
      `${own.toFixed(1)} J against ${byHand.toFixed(1)} J, ${percent(own / byHand - 1)} off`,
      "0.5 %",
      Math.abs(own / byHand - 1) < 0.005,
    );
    const counted = energy?.counterJoules ?? Number.NaN;
    note(
      "LoadGen's window: integrated energy against the hardware's counter",
      `${own.toFixed(1)} J against ${counted.toFixed(1)} J, ${percent(own / counted - 1)} off`,
      "1 %",
      options.dry || Math.abs(own / counted - 1) < 0.01,
    );
  } else {
    note("LoadGen", `gpulse run ended with ${code}: ${recorded.text().slice(-300)}`, "0", false);
  }
}

/** Power between the ends of the measured window, each pair of readings joined by a line. @param {string} text @param {import("../../src/runs/run.ts").Run} run */
function integrate(text, run) {
  const [fromMs, toMs] = run.result?.window ?? [run.startedMs, run.endedMs];
  /** @type {[number, number][]} */
  const points = [];
  for (const line of text.split("\n").filter((one) => one.startsWith("{"))) {
    const { time, readings } =
      /** @type {{ time: string, readings: { name: string, value: number }[] }} */ (
        JSON.parse(line)
      );
    const power =
      readings.find(({ name }) => name === "gpu_power_instant_watts") ??
      readings.find(({ name }) => name === "gpu_power_watts");
    if (power !== undefined) points.push([Date.parse(time), power.value]);
  }
  let joules = 0;
  for (const [at, [rightMs, right]] of points.entries()) {
    const [leftMs, left] = points[at - 1] ?? [rightMs, right];
    const [a, b] = [Math.max(leftMs, fromMs), Math.min(rightMs, toMs)];
    if (b <= a) continue;
    const wattsAt = (/** @type {number} */ ms) =>
      left + ((right - left) * (ms - leftMs)) / (rightMs - leftMs);
    joules += (((wattsAt(a) + wattsAt(b)) / 2) * (b - a)) / 1_000;
  }
  return joules;
}

await decoder.stop();
rmSync(folder, { recursive: true, force: true });
log.end();
process.exit(results.every(({ ok }) => ok) ? 0 : 1);
