#!/usr/bin/env node
// Holds FLOP/s and bytes/s estimates and gpu_bound against work whose amount is counted, on a machine with an NVIDIA GPU of Hopper
// or newer; measures what the agent costs meanwhile, and whether GPM samples fail while ncu profiles a kernel. Changes nothing.
// Needs Node, the built dist/agent, node_modules/koffi with its binary, and PyTorch; ncu where it is installed.
//
//   node test/device/check-gpm.mjs OUT_DIR [--dist DIR] [--library FILE] [--seconds 11] [--kinds a,b:20]
//
// Writes check-gpm.json, check-gpm.md and the last page; ends with 1 where a bound does not hold. About 230 s.
// With --stub nothing touches a GPU: --library is the tests' stand-in, which gets the values of each kind as measured.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { parsePage, valueOf } from "./exposition.mjs";
import { kinds, stubScript } from "./gpm-kinds.mjs";
import { costOf, layOut, memoryParts, startAgent } from "./machine.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    library: { type: "string", default: "" },
    seconds: { type: "string", default: "11" },
    kinds: { type: "string", default: Object.keys(kinds).join(",") },
    python: { type: "string", default: "python3" },
    stub: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-gpm");
mkdirSync(out, { recursive: true });
const named = options.library === "" ? "" : `&library=${options.library}`;

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

/** Every page read of a kind while it ran, once a second. @type {Map<string, ReturnType<typeof parsePage>[]>} */
const pages = new Map();
/** Everything read of one kind of work. @type {Record<string, unknown>[]} */
const readings = [];
/** @type {string[]} */
const rows = [];
const save = () => {
  const head =
    "| work | counted TFLOP/s | estimated | error | counted GB/s | estimated | error | bound by | wanted | held |\n|---|---|---|---|---|---|---|---|---|---|\n";
  const table = results
    .map(
      ({ what, measured, bound, ok }) =>
        `| ${what} | ${measured} | ${bound} | ${ok ? "yes" : "NO"} |`,
    )
    .join("\n");
  writeFileSync(
    path.join(out, "check-gpm.md"),
    `${head}${rows.join("\n")}\n\n| what | measured | bound | held |\n|---|---|---|---|\n${table}\n`,
  );
  writeFileSync(
    path.join(out, "check-gpm.json"),
    `${JSON.stringify({ results, readings }, null, 2)}\n`,
  );
};
process.once("exit", save);

const main = layOut(options.dist);
if (options.stub) stub("idle");
// GPM once a second, so that every value belongs to one kind of work; the agent that is measured has its defaults.
const agent = await startAgent(main, `nvidia:?slow-every=1s${named}`, "1s", [
  "--bound-window",
  "5s",
]);
const plain = await startAgent(main, `nvidia:?processes=true${named}`, "1s");
await sleep(options.stub ? 1_000 : 6_000);
const before = { ...costOf(plain.pid), atMs: performance.now() };
let mostBytes = before.residentBytes;

const worker = spawn(
  options.python,
  [
    fileURLToPath(new URL("kinds.py", import.meta.url)),
    options.seconds,
    options.kinds,
    ...(options.stub ? ["--dry"] : []),
  ],
  { stdio: ["ignore", "pipe", "inherit"] },
);
const ended = new Promise((resolve) => worker.once("close", resolve));
process.once("exit", () => void worker.kill("SIGKILL"));

/** @typedef {{ event: string, kind: string, forSeconds: number, seconds: number, steps: number, flop: number, bytes: number, reason: string }} WorkEvent */
let rest = "";
/** @type {Promise<void>} */
let looking = Promise.resolve();
for await (const chunk of worker.stdout.setEncoding("utf8")) {
  const lines = (rest + String(chunk)).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines.filter((one) => one.startsWith("{"))) {
    const event = /** @type {WorkEvent} */ (JSON.parse(line));
    if (event.event === "ready") process.stdout.write(`${line}\n`);
    if (event.event === "failed")
      note(`${event.kind}: work`, event.reason, "runs", kinds[event.kind]?.word === undefined);
    if (event.event === "begin") looking = look(event.kind, event.forSeconds);
    if (event.event === "end") {
      await looking;
      judge(event);
    }
  }
}
await ended;
const after = costOf(plain.pid);
const share =
  (100 * 1_000 * (after.cpuSeconds - before.cpuSeconds)) / (performance.now() - before.atMs);
note(
  "agent at 1 s, everything on, over all kinds of work",
  `${share.toFixed(2)} % of a core, ${(mostBytes / 1e6).toFixed(1)} MB`,
  "≤ 1 %, ≤ 90 MB",
  options.stub || (share <= 1 && mostBytes <= 90e6),
);
note("memory of that agent", memoryParts(plain.pid), "reported", true);
await profile();
await agent.stop();
await plain.stop();
save();
process.stdout.write(`\n${rows.join("\n")}\n`);
process.exit(results.every(({ ok }) => ok) ? 0 : 1);

/**
 * Reads once a second while the work runs, so that estimates and count cover the same time: work in bursts fills one second more
 * than the next. The first seconds are left out: what they show is in part of what ran before.
 */
async function look(/** @type {string} */ kind, /** @type {number} */ seconds) {
  if (options.stub) stub(kind);
  const startMs = performance.now();
  const untilMs = startMs + seconds * 1_000 - 300;
  pages.set(kind, []);
  for (let turn = 1; performance.now() < untilMs; turn++) {
    await sleep(Math.max(0, Math.min(untilMs, startMs + turn * 1_000) - performance.now()));
    if (turn % 2 === 0) await plain.page();
    mostBytes = Math.max(mostBytes, costOf(plain.pid).residentBytes);
    const page = await agent.page();
    writeFileSync(path.join(out, "page.txt"), page);
    if (performance.now() - startMs >= Math.min(4_500, seconds * 500))
      pages.get(kind)?.push(parsePage(page));
  }
}

function judge(/** @type {WorkEvent} */ event) {
  const kind = kinds[event.kind];
  const seen = pages.get(event.kind) ?? [];
  const page = seen.at(-1);
  if (kind === undefined || page === undefined) return;
  const value = (/** @type {string} */ name, /** @type {Record<string, string>} */ labels = {}) => {
    const found = seen.flatMap((one) => valueOf(one, name, labels) ?? []);
    return found.length === 0 ? undefined : found.reduce((sum, one) => sum + one) / found.length;
  };
  const words = page.filter((one) => one.name === "gpu_bound" && one.value === 1);
  const word = words.map(({ labels }) => labels["by"]).join("+") || "none";
  const counted = options.stub
    ? { flops: (kind.stub.teraflops ?? 0) * 1e12, bytes: (kind.stub.gigabytes ?? 0) * 1e9 }
    : { flops: event.flop / event.seconds, bytes: event.bytes / event.seconds };
  const flops = kind.flops === undefined ? undefined : kind.flops(value);
  const bytes = kind.isMemory ? value("gpu_dram_bytes_per_second_estimate") : undefined;
  const off = (/** @type {number | undefined} */ estimated, /** @type {number} */ real) =>
    estimated === undefined || real === 0 ? undefined : estimated / real - 1;
  const percent = (/** @type {number | undefined} */ ratio) =>
    ratio === undefined ? "" : `${(ratio * 100).toFixed(2)} %`;
  const [flopsOff, bytesOff] = [off(flops, counted.flops), off(bytes, counted.bytes)];
  const scaled = (/** @type {number | undefined} */ number, /** @type {number} */ by) =>
    number === undefined || number === 0 ? "" : (number / by).toFixed(1);
  if (kind.flops !== undefined)
    note(
      `${event.kind}: FLOP/s`,
      `${scaled(flops, 1e12) || "absent"} estimated, ${scaled(counted.flops, 1e12)} T counted: ${percent(flopsOff)} off`,
      "within 5 %",
      flopsOff !== undefined && Math.abs(flopsOff) <= 0.05,
    );
  if (kind.isMemory)
    note(
      `${event.kind}: bytes/s`,
      `${scaled(bytes, 1e9) || "absent"} estimated, ${scaled(counted.bytes, 1e9)} G counted: ${percent(bytesOff)} off`,
      "within 2 %",
      bytesOff !== undefined && Math.abs(bytesOff) <= 0.02,
    );
  if (kind.word !== undefined) note(`${event.kind}: bound by`, word, kind.word, word === kind.word);
  rows.push(
    `| ${event.kind} | ${scaled(counted.flops, 1e12)} | ${scaled(flops, 1e12)} | ${percent(flopsOff)} | ${scaled(counted.bytes, 1e9)} | ${scaled(bytes, 1e9)} | ${percent(bytesOff)} | ${word} | ${kind.word ?? ""} | ${kind.word === undefined || word === kind.word ? "yes" : "NO"} |`,
  );
  const shown = page.filter(
    ({ name }) =>
      /_activity_ratio$|_estimate$|^gpu_(bound|sm_occupancy_ratio|clock_hertz|clock_mean_hertz|power_watts|utilization_ratio|throttle_active)$|throughput/.test(
        name,
      ) || name === "gpulse_source_readings",
  );
  readings.push({ ...event, counted, word, page: shown });
  const activity = shown
    .filter(({ name }) =>
      /_activity_ratio$|clock_hertz|clock_mean|power_watts|throughput/.test(name),
    )
    .filter(({ value: number }) => number > 0)
    .map(({ name, labels, value: number }) => {
      const own = Object.entries(labels).filter(([label]) => !/^(uuid|gpu|host)$/.test(label));
      return `${name.replace(/^gpu_|_ratio$/g, "")}${own.map(([, text]) => `.${text}`).join("")}=${number > 1e6 ? number.toExponential(3) : number}`;
    });
  process.stdout.write(`     ${activity.join(" ")}\n`);
  save();
}

/** Readings of the slow frame that the driver could not give. */
function failedReadings(/** @type {string} */ page) {
  return valueOf(parsePage(page), "gpulse_source_readings", { state: "failed", tier: "slow" });
}

/** Where it is installed, also outside the path. */
function findNcu() {
  const folders = [
    ...(process.env["PATH"] ?? "").split(":"),
    "/usr/local/cuda/bin",
    ...["/opt/nvidia/nsight-compute", "/usr/local/cuda/nsight-compute"].flatMap((folder) =>
      existsSync(folder)
        ? [folder, ...readdirSync(folder).map((name) => path.join(folder, name))]
        : [],
    ),
  ];
  return folders.map((folder) => path.join(folder, "ncu")).find((file) => existsSync(file));
}

/** GPM beside a profiler: how many samples fail while ncu reads counters of the same GPU. */
async function profile() {
  const ncu = options.stub ? undefined : findNcu();
  if (ncu === undefined) {
    note("GPM while ncu profiles", "ncu is not installed here: not measured", "0 failed", true);
    return;
  }
  const failedBefore = failedReadings(await agent.page());
  const work =
    "import torch,time\na=torch.randn(4096,4096,device='cuda',dtype=torch.bfloat16)\nuntil=time.time()+10\nwhile time.time()<until:\n  a@a\n  torch.cuda.synchronize()\n";
  const child = spawn(ncu, ["--set", "full", "--launch-count", "30", options.python, "-c", work], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part) => (text += String(part)));
  const over = new Promise((resolve) => child.once("close", resolve));
  let [looks, missing, failed] = [0, 0, 0];
  while (!(await Promise.race([over.then(() => true), sleep(1_000, false)]))) {
    const page = await agent.page();
    looks++;
    if (valueOf(parsePage(page), "gpu_sm_activity_ratio") === undefined) missing++;
    failed = Math.max(failed, failedReadings(page) ?? 0);
  }
  writeFileSync(path.join(out, "ncu.txt"), text);
  const profiled = /==PROF== Profiling/.test(text);
  note(
    "GPM while ncu profiles",
    `${missing} of ${looks} looks without SM activity, ${failed} failed readings (${failedBefore ?? "?"} before); ncu ${profiled ? "profiled kernels" : `did not profile: ${text.slice(-300).replaceAll("\n", " ")}`}`,
    "0 missing, 0 failed",
    missing === 0 && failed <= (failedBefore ?? 0),
  );
}

/** Gives the stand-in what a real H200 reported under this kind of work. */
function stub(/** @type {string} */ kind) {
  const file = path.join(path.dirname(options.library), "script");
  writeFileSync(`${file}.next`, stubScript(kind));
  renameSync(`${file}.next`, file);
}
