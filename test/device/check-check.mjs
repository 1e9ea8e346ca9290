#!/usr/bin/env node
// Holds `gpulse check` against PyTorch on a real GPU: bandwidths and rates, how repeatable they are, flipped bits on the real
// kernels, a GPU in use, and a program that comes in the middle. Needs Node, the built dist/, node_modules/koffi and PyTorch.
//
//   node test/device/check-check.mjs OUT_DIR [--seconds 20] [--repeats 3] [--flips 100]
//
// Writes check-check.json and check-check.md. About 150 s on one H200.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    seconds: { type: "string", default: "20" },
    repeats: { type: "string", default: "3" },
    flips: { type: "string", default: "100" },
    python: { type: "string", default: "python3" },
    // For a try without a GPU: the stand-ins for the driver's libraries.
    library: { type: "string", multiple: true, default: [] },
  },
});
const out = path.resolve(positionals[0] ?? "check-check");
mkdirSync(out, { recursive: true });
const main = path.join(options.dist, "gpulse", "main.js");
const peer = fileURLToPath(new URL("rates.py", import.meta.url));
const libraries = options.library.map((one) => `--${one}`);

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

/**
 * @typedef {{ test: string, value: number }} CheckResult
 * @typedef {{ injected: number, found: number, falseAlarms: number }} SelfTest
 * @typedef {{ verdict: string, reasons: string[], results: CheckResult[], selfTest?: SelfTest }} GpuCheck
 */

/** @param {string} text @returns {GpuCheck | undefined} */
function firstGpu(text) {
  if (text.trim() === "") return undefined;
  const report = /** @type {{ gpus: GpuCheck[] }} */ (JSON.parse(text));
  return report.gpus[0];
}

/** @param {readonly string[]} args */
function check(args) {
  const startMs = performance.now();
  const done = spawnSync(process.execPath, [main, "check", ...libraries, ...args], {
    encoding: "utf8",
    timeout: 300_000,
    maxBuffer: 64 << 20,
  });
  process.stderr.write(done.stderr ?? "");
  const gpu = args.includes("--json") ? firstGpu(done.stdout ?? "") : undefined;
  const seconds = (performance.now() - startMs) / 1_000;
  return { code: done.status, text: done.stdout, gpu, seconds };
}

/** A PyTorch process that only holds some memory; resolves when it is on the GPU. */
async function hold(/** @type {number} */ seconds) {
  const child = spawn(options.python, [peer, "--hold", String(seconds)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  while (!output.includes("ready") && child.exitCode === null) await sleep(50);
  return {
    pid: child.pid,
    end: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const usedMemory = () =>
  spawnSync("nvidia-smi", ["--query-gpu=memory.used", "--format=csv,noheader,nounits"], {
    encoding: "utf8",
  }).stdout?.trim();

const memoryBefore = usedMemory();
const first = check(["--seconds", options.seconds]);
process.stdout.write(`${first.text}\n`);
const runs = Array.from({ length: Number(options.repeats) }, () =>
  check(["--seconds", options.seconds, "--json"]),
);
note(
  "verdict of every run",
  runs.map(({ code, gpu }) => `${gpu?.verdict} (exit ${code})`).join(", "),
  "pass, 0",
  runs.every(({ code }) => code === 0),
);
note(
  `time of a run of ${options.seconds} s`,
  runs.map(({ seconds }) => `${seconds.toFixed(1)} s`).join(", "),
  "at most 10 s more",
  runs.every(({ seconds }) => seconds < Number(options.seconds) + 10),
);

const torch = spawnSync(options.python, [peer], { encoding: "utf8", timeout: 200_000 });
process.stderr.write(torch.stderr ?? "");
const theirs = /** @type {Record<string, number>} */ (
  JSON.parse((torch.stdout ?? "").trim() || "{}")
);
/** @type {Record<string, { ours: number[], theirs: number, difference: number, spread: number }>} */
const table = {};
for (const test of ["device_copy", "host_to_device", "device_to_host", "fp32", "tensor"]) {
  const ours = runs.flatMap(({ gpu }) =>
    (gpu?.results ?? []).filter((one) => one.test === test).map(({ value }) => value),
  );
  const peerRate = theirs[test] ?? Number.NaN;
  const mean = ours.reduce((sum, value) => sum + value, 0) / ours.length;
  const difference = mean / peerRate - 1;
  const spread = (Math.max(...ours) - Math.min(...ours)) / mean;
  table[test] = { ours, theirs: peerRate, difference, spread };
  const isCopy = test !== "fp32" && test !== "tensor";
  const scale = isCopy ? 1e9 : 1e12;
  const unit = isCopy ? "GB/s" : "TFLOP/s";
  note(
    `${test} against PyTorch`,
    `${(mean / scale).toFixed(2)} and ${(peerRate / scale).toFixed(2)} ${unit}: ${percent(difference)}`,
    isCopy ? "within 3 %" : "reported: PyTorch's products also move data",
    isCopy ? Math.abs(difference) <= 0.03 : Number.isFinite(difference),
  );
  note(
    `${test}, spread of ${ours.length} runs`,
    percent(spread),
    isCopy ? "at most 1 %" : "reported",
    isCopy ? spread <= 0.01 : Number.isFinite(spread),
  );
}

const flips = check(["--self-test", options.flips, "--json"]);
const selfTest = flips.gpu?.selfTest;
note(
  "flipped bits found on the real kernels",
  JSON.stringify(selfTest ?? flips.gpu ?? flips.text),
  `${options.flips} of ${options.flips}, no false alarm`,
  selfTest?.found === Number(options.flips) && selfTest?.falseAlarms === 0,
);

const holder = await hold(60);
const busy = check(["--json"]);
note(
  "a GPU that PyTorch holds",
  `${busy.gpu?.verdict}: ${busy.gpu?.reasons?.[0]} (exit ${busy.code}, ${busy.seconds.toFixed(1)} s)`,
  "busy, exit 4",
  busy.gpu?.verdict === "busy" && busy.code === 4,
);
await holder.end();
await sleep(1_000);

const midway = spawn(process.execPath, [main, "check", ...libraries, "--seconds", "60", "--json"], {
  stdio: ["ignore", "pipe", "inherit"],
});
let midwayText = "";
midway.stdout.setEncoding("utf8").on("data", (text) => (midwayText += text));
/** @type {Promise<number | null>} */
const midwayEnd = new Promise((resolve) => midway.once("close", resolve));
await sleep(6_000);
const guest = await hold(60);
const guestMs = performance.now();
const midwayCode = await midwayEnd;
const reactionMs = performance.now() - guestMs;
const stopped = firstGpu(midwayText);
note(
  "PyTorch starts in the middle",
  `${stopped?.verdict}: ${stopped?.reasons?.[0]} (exit ${midwayCode}, ended ${Math.round(reactionMs)} ms after PyTorch had its memory)`,
  "stopped, exit 4",
  stopped?.verdict === "stopped" && midwayCode === 4,
);
await guest.end();
await sleep(1_000);
const memoryAfter = usedMemory();
note(
  "memory in use before and after, MiB",
  `${memoryBefore} and ${memoryAfter}`,
  "the same",
  memoryBefore === memoryAfter,
);

writeFileSync(
  path.join(out, "check-check.json"),
  JSON.stringify({ results, table, runs: runs.map(({ gpu }) => gpu), theirs }, null, 2),
);
writeFileSync(
  path.join(out, "check-check.md"),
  [
    "| what | measured | bound | held |",
    "|---|---|---|---|",
    ...results.map(
      ({ what, measured, bound, ok }) =>
        `| ${what} | ${measured} | ${bound} | ${ok ? "yes" : "**no**"} |`,
    ),
    "",
  ].join("\n"),
);
process.stdout.write(`\n${results.filter(({ ok }) => ok).length} of ${results.length} held\n`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
