#!/usr/bin/env node
// Holds the job ledger against the hardware's energy counter: three processes with known shares of one GPU side by side, each a
// job of its own, under `gpulse up`. Needs Node, the built dist/, node_modules/koffi and PyTorch. Changes nothing.
//
//   node test/device/check-books.mjs OUT_DIR [--seconds 60] [--rates 240,120,60] [--library FILE]
//
// Writes check-books.json and check-books.md; ends with 1 where a bound does not hold. About 80 s.
// With --stub nothing touches a GPU: --library is the tests' stand-in, which reports the processes, shares and energy.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { freePort, run } from "./machine.mjs";
import { energyReader } from "./nvml.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
    library: { type: "string", default: "libnvidia-ml.so.1" },
    seconds: { type: "string", default: "60" },
    rates: { type: "string", default: "240,120,60" },
    python: { type: "string", default: "python3" },
    stub: { type: "boolean", default: false },
  },
});
const out = path.resolve(positionals[0] ?? "check-books");
mkdirSync(out, { recursive: true });
const main = path.join(options.dist, "gpulse", "main.js");
const seconds = Number(options.seconds);
const rates = options.rates.split(",").map(Number);
const names = rates.map((rate) => `share-${rate}`);
const named = options.library === "libnvidia-ml.so.1" ? "" : `&library=${options.library}`;
/** The counter is read every second, so that the ends of the stretch that is compared are known to a second. */
const source = `nvidia:?processes=true&slow-every=1s${named}`;
/** From the start of the processes to their first product: PyTorch takes a few seconds to load, more so three times at once. */
const leadSeconds = options.stub ? 2 : 14;

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
const percent = (/** @type {number} */ ratio) => `${(ratio * 100).toFixed(3)} %`;

/**
 * @typedef {{ meter: string, firstJoules: number, lastJoules: number, resetJoules: number, meterJoules: number, jobJoules: number,
 *   idleJoules: number, unattributedJoules: number, heldSeconds: number, gaps: Record<string, { seconds: number, joules: number }> }} Book
 * @typedef {{ gpuSeconds: number, usefulSeconds: number, joules: number, joulesByRule: Record<string, number> }} Stretch
 * @typedef {{ id: string, name: string, kind: string, stretches: Stretch[] }} Job
 */

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-check-books-"));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
/** @type {Map<number, number>} */
const stubShares = new Map();
const stubStartMs = performance.now();
/** Gives the stand-in the processes and an energy counter that moves. */
const moveStub = () => {
  const watts = stubShares.size === 0 ? 100 : 600;
  stubJoules += (watts * (performance.now() - stubLastMs)) / 1_000;
  stubLastMs = performance.now();
  const file = path.join(path.dirname(options.library), "script");
  const lines = [
    "gpus 1",
    "0.name NVIDIA H200",
    `0.energy ${Math.round(stubJoules * 1_000)}`,
    `0.utilization ${stubShares.size === 0 ? 0 : 90}`,
    ...[...stubShares].flatMap(([pid, share]) => [
      `process 0 ${pid} 1000000000 C`,
      `0.process_share_${pid} ${share}`,
    ]),
  ];
  writeFileSync(`${file}.next`, `${lines.join("\n")}\n`);
  renameSync(`${file}.next`, file);
};
let [stubJoules, stubLastMs] = [1_000, stubStartMs];
if (options.stub) {
  moveStub();
  setInterval(moveStub, 100).unref();
}

const hub = spawn(
  process.execPath,
  [
    main,
    "up",
    "--source",
    source,
    "--port",
    String(port),
    "--data",
    path.join(folder, "data"),
    "--no-open",
    "--no-lake",
    "--log-level",
    "warn",
  ],
  { stdio: ["ignore", "inherit", "inherit"] },
);
/** @type {import("node:child_process").ChildProcess[]} */
const children = [hub];
process.once("exit", () => {
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** @param {readonly string[]} args */
const ask = (args) => run(process.execPath, [main, ...args, "--url", url]);
const readBook = () => {
  const { stdout } = ask(["jobs", "books", "--all", "--json"]);
  if (stdout.trim() === "") return undefined;
  return /** @type {{ books: Book[] }} */ (JSON.parse(stdout)).books[0];
};

const energy = energyReader(options.library);
const before = energy();
/** @type {Book | undefined} */
let first;
for (let turn = 0; turn < 60 && first === undefined; turn++) {
  await sleep(500);
  first = readBook();
}
if (first === undefined) throw new Error("the hub keeps no book of a GPU");
const atFirst = energy();
note(
  "the book begins with the counter's reading",
  `${first.firstJoules.toFixed(1)} J`,
  `${before.toFixed(1)} to ${atFirst.toFixed(1)} J read beside it`,
  first.firstJoules >= before - 0.001 && first.firstJoules <= atFirst + 0.001,
);

const beginSeconds = Date.now() / 1_000 + leadSeconds;
const workers = rates.map((rate, at) => {
  const child = spawn(
    options.python,
    [
      fileURLToPath(new URL("shares.py", import.meta.url)),
      "--rate",
      String(rate),
      "--begin",
      String(beginSeconds),
      "--seconds",
      String(seconds),
      ...(options.stub ? ["--dry"] : []),
    ],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, GPULSE_JOB: names[at] } },
  );
  children.push(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => (text += String(part)));
  const ended = new Promise((/** @type {(text: string) => void} */ resolve) =>
    child.once("close", () => resolve(text)),
  );
  return { pid: child.pid ?? 0, rate, ended };
});
if (options.stub) for (const { pid, rate } of workers) stubShares.set(pid, Math.round(rate / 5));
const endings = await Promise.all(workers.map(({ ended }) => ended));
stubShares.clear();
const counts = endings.map((text) => {
  const line = text.split("\n").find((one) => one.startsWith("{"));
  return line === undefined
    ? undefined
    : /** @type {{ products: number, seconds: number, late: number }} */ (JSON.parse(line));
});
// The readings after the end have to arrive; what is compared ends while the GPU is idle again.
await sleep(2_000);
const nearEnd = energy();
await sleep(6_000);
const book = readBook();
const afterEnd = energy();
if (book === undefined) throw new Error("the hub lost its book");

const booked = book.jobJoules + book.idleJoules + book.unattributedJoules;
note(
  "the book ends with the counter's reading",
  `${book.lastJoules.toFixed(1)} J`,
  `${nearEnd.toFixed(1)} to ${afterEnd.toFixed(1)} J read beside it`,
  book.lastJoules >= nearEnd - 0.001 && book.lastJoules <= afterEnd + 0.001,
);
const counted = book.lastJoules - book.firstJoules;
const error = (booked - counted) / counted;
note(
  "jobs + idle + unattributed against the hardware's counter",
  `${book.jobJoules.toFixed(1)} + ${book.idleJoules.toFixed(1)} + ${book.unattributedJoules.toFixed(1)} = ${booked.toFixed(1)} J, counter ${counted.toFixed(1)} J: ${percent(error)}`,
  "within 0.5 %",
  book.meter === "hardware" && book.resetJoules === 0 && Math.abs(error) <= 0.005,
);
const unattributed = book.unattributedJoules / counted;
note(
  "unattributed",
  `${percent(unattributed)} ${JSON.stringify(book.gaps)}`,
  "at most 0.5 %",
  unattributed <= 0.005,
);

const { stdout: listText } = ask(["jobs", "list", "--json"]);
const listed = /** @type {{ jobs: { id: string, name: string }[] }} */ (JSON.parse(listText)).jobs;
const jobs = names.map((name) => {
  const id = listed.find((job) => job.name === name)?.id;
  if (id === undefined) return undefined;
  const { stdout } = ask(["jobs", "show", id, "--json"]);
  return /** @type {{ job: Job }} */ (JSON.parse(stdout)).job;
});
const ofJobs = jobs.map((job) => (job?.stretches ?? []).reduce((sum, one) => sum + one.joules, 0));
const sum = (/** @type {readonly number[]} */ list) => list.reduce((total, one) => total + one, 0);
const products = counts.map((one) => one?.products ?? Number.NaN);
note(
  "jobs found",
  listed.map(({ id }) => id).join(", "),
  names.join(", "),
  jobs.every((job) => job !== undefined),
);
note(
  "the jobs' joules against the book's",
  `${ofJobs.map((joules) => joules.toFixed(1)).join(" + ")} = ${sum(ofJobs).toFixed(1)} J, book ${book.jobJoules.toFixed(1)} J`,
  "within 0.5 % of the counter",
  Math.abs(sum(ofJobs) - book.jobJoules) <= 0.005 * counted,
);
// NVIDIA's samples by process do not show who did how much, so the ledger divides equally and marks it: reported, not bounded.
names.forEach((name, at) => {
  const real = (products[at] ?? Number.NaN) / sum(products);
  const own = (ofJobs[at] ?? Number.NaN) / sum(ofJobs);
  note(
    `${name}: part of the energy`,
    `${percent(own)}, ${products[at]} of ${sum(products)} products: ${percent(real)}`,
    "reported",
    true,
  );
});
note(
  "bursts more than a second late",
  counts.map((one) => String(one?.late ?? "no count")).join(", "),
  "0: the rates were held",
  counts.every((one) => one?.late === 0),
);
const health = ask(["health", "--json"]);
const { hosts } =
  /** @type {{ hosts: { worst: string, gpus: { state: string, reasons: { reason: string }[] }[] }[] }} */ (
    JSON.parse(health.stdout)
  );
note(
  "health of the GPU under this load, as the hub sees it",
  `${hosts[0]?.gpus[0]?.state}, ${JSON.stringify(hosts[0]?.gpus[0]?.reasons.map(({ reason }) => reason))} (exit ${health.code})`,
  "healthy, exit 0",
  health.code === 0 && hosts[0]?.gpus[0]?.state === "healthy",
);

const ended = new Promise((resolve) => hub.once("exit", resolve));
hub.kill("SIGTERM");
await ended;
writeFileSync(
  path.join(out, "check-books.json"),
  `${JSON.stringify({ results, first, book, jobs, counts, hardware: { before, atFirst, nearEnd, afterEnd } }, null, 2)}\n`,
);
writeFileSync(
  path.join(out, "check-books.md"),
  [
    "| what | measured | bound | held |",
    "|---|---|---|---|",
    ...results.map(
      ({ what, measured, bound, ok }) =>
        `| ${what} | ${measured} | ${bound} | ${ok ? "yes" : "NO"} |`,
    ),
    "",
  ].join("\n"),
);
process.exit(results.every(({ ok }) => ok) ? 0 : 1);
