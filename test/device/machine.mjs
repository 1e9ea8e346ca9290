// What the device check starts and measures: our agent, nvidia-smi, a load, and what each of them costs.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Clock ticks of /proc, 100 a second on every Linux there is. */
const TICKS = 100;

/** @param {string} command @param {readonly string[]} args */
export function run(command, args) {
  const done = spawnSync(command, args, { encoding: "utf8", timeout: 60_000, maxBuffer: 64 << 20 });
  return { code: done.status, stdout: done.stdout ?? "", stderr: done.stderr ?? "" };
}

/** Runs a program while the rest goes on. */
export async function runBeside(
  /** @type {string} */ command,
  /** @type {readonly string[]} */ args,
) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  await new Promise((resolve) => child.once("close", resolve));
  return output;
}

/** The process, and those it has started that still run: the agent reads NVML in one of its own. @returns {number[]} */
function treeOf(/** @type {number} */ pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return [pid, ...(children === "" ? [] : children.split(" ").map(Number).flatMap(treeOf))];
}

const cpuSecondsIn = (/** @type {string} */ file) => {
  const stat = readFileSync(file, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** Processor seconds by thread of the process and its children, the busiest first: which part of the agent costs what. */
export function threadsOf(/** @type {number} */ pid) {
  return treeOf(pid)
    .flatMap((one) =>
      readdirSync(`/proc/${one}/task`).map((id) => {
        const file = `/proc/${one}/task/${id}/stat`;
        const stat = readFileSync(file, "utf8");
        const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
        const main = one === pid ? "main" : "nvml";
        return {
          thread: Number(id) === one ? main : `${main} ${name}`,
          cpuSeconds: cpuSecondsIn(file),
        };
      }),
    )
    .sort((a, b) => b.cpuSeconds - a.cpuSeconds)
    .slice(0, 6);
}

/** Kilobytes of these kinds in /proc's sums, as bytes. */
const bytesIn = (/** @type {string} */ file, /** @type {RegExp} */ kinds) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => kinds.test(line))
    .reduce((sum, line) => sum + Number(/(\d+) kB/.exec(line)?.[1] ?? 0) * 1_024, 0);

/** Processor seconds of a process and its children, and their resident memory; pages that a child shares count once. */
export function costOf(/** @type {number} */ pid) {
  const [, ...children] = treeOf(pid);
  return {
    cpuSeconds: [pid, ...children]
      .map((one) => cpuSecondsIn(`/proc/${one}/stat`))
      .reduce((sum, one) => sum + one, 0),
    residentBytes: children
      .map((child) => bytesIn(`/proc/${child}/smaps_rollup`, /^Private_/))
      .reduce((sum, one) => sum + one, bytesIn(`/proc/${pid}/status`, /^VmRSS/)),
  };
}

/** Processor seconds of the children that have ended, to price a program run many times. */
function childrenSeconds() {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** @param {string} command @param {readonly string[]} args @param {number} times */
export function priceOf(command, args, times) {
  const cpu = childrenSeconds();
  const startMs = performance.now();
  for (let turn = 0; turn < times; turn++) run(command, args);
  return {
    wallMs: (performance.now() - startMs) / times,
    cpuMs: ((childrenSeconds() - cpu) * 1_000) / times,
  };
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/**
 * The program as a package has it: in a checkout `bin/gpulse` would build first. Returns what a user starts.
 * @param {string} dist
 */
export function layOut(dist) {
  const root = path.resolve(import.meta.dirname, "../..");
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-check-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.join(root, "bin"), path.join(folder, "bin"), { recursive: true });
  cpSync(path.join(root, "package.json"), path.join(folder, "package.json"));
  symlinkSync(path.resolve(dist), path.join(folder, "dist"));
  return path.join(folder, "bin", "gpulse");
}

/**
 * Starts our agent as built and waits until it delivers.
 * @param {string} main @param {string} source @param {string} interval @param {readonly string[]} more further arguments
 */
export async function startAgent(main, source, interval, more = []) {
  const port = await freePort();
  const args = [
    main,
    "agent",
    "--source",
    source,
    "--interval",
    interval,
    "--port",
    String(port),
    "--host",
    "127.0.0.1",
    ...more,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  const killNow = () => void child.kill("SIGKILL");
  process.once("exit", killNow);
  child.once("exit", () => process.off("exit", killNow));
  const url = `http://127.0.0.1:${port}`;
  const page = async () => (await fetch(`${url}/metrics`)).text();
  for (let turn = 0; ; turn++) {
    const ready = await fetch(`${url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) break;
    if (turn > 200 || child.exitCode !== null)
      throw new Error(`the agent at ${interval} did not start`);
    await sleep(100);
  }
  const stop = async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await gone;
  };
  return { pid: child.pid ?? 0, url, page, stop };
}

/** Runs a load; resolves when it is under way, undefined where there is no PyTorch. */
export async function startLoad(/** @type {string} */ phases) {
  const file = new URL("./load.py", import.meta.url).pathname;
  const child = spawn("python3", [file, phases], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  child.once("error", () => undefined);
  while (!output.includes("ready")) {
    if (child.exitCode !== null || child.pid === undefined) return undefined;
    await sleep(50);
  }
  return { pid: child.pid, ended };
}

/** The processor share of a process over a while, in percent of one core, with a scrape every five seconds as a Prometheus would. */
export async function shareOf(
  /** @type {{ pid: number, page: () => Promise<string> }} */ agent,
  /** @type {number} */ seconds,
) {
  const before = costOf(agent.pid);
  const startMs = performance.now();
  let mostBytes = before.residentBytes;
  while (performance.now() - startMs < seconds * 1_000) {
    await sleep(Math.min(5_000, seconds * 1_000 - (performance.now() - startMs)));
    await agent.page();
    mostBytes = Math.max(mostBytes, costOf(agent.pid).residentBytes);
  }
  const spent = costOf(agent.pid).cpuSeconds - before.cpuSeconds;
  return {
    percent: (100 * spent * 1_000) / (performance.now() - startMs),
    residentBytes: mostBytes,
  };
}
