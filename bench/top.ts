/**
 * gpulse top at 1 s with 8 and with 256 simulated GPUs, beside other terminal monitors, all in the same half minute and in the
 * same kind of terminal (tmux). With --source the simulator runs inside gpulse and is counted with it; a hub's fleet is simulated
 * in the hub, and only the terminal is counted. nvtop is the peer if it is installed; it refuses to start without a GPU, so htop
 * at one second or btop at its two seconds replaces it then.
 * `npm run bench:top`
 */
import { execFileSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../engines/ports.ts";
import { startProcess } from "../engines/process.ts";
import { ensureBuild, program } from "../engines/program.ts";
import { findTool } from "../engines/tools.ts";
import { processCost } from "./process-cost.ts";

const warmUpSeconds = 15;
const seconds = Number(process.env["BENCH_SECONDS"] ?? 30);
const budgetPercent = 2;

interface Contender {
  readonly name: string;
  readonly command: string;
  readonly size: readonly [columns: number, rows: number];
  readonly isOurs: boolean;
}

const port = await freePort();
const hubUrl = `http://127.0.0.1:${port}`;
const top = (args: string): string =>
  `exec '${process.execPath}' '${program}' top --interval 1s ${args}`;

const peers: readonly (readonly [name: string, command: string])[] = [
  ["nvtop", "exec nvtop -d 10"],
  ["htop", "exec htop -d 10"],
  ["btop", "exec btop"],
];

const contenders: readonly Contender[] = [
  { name: "gpulse top, 8 GPUs", command: top("--source sim:8"), size: [80, 24], isOurs: true },
  { name: "gpulse top, 8 GPUs", command: top("--source sim:8"), size: [200, 60], isOurs: true },
  { name: "gpulse top, 256 GPUs", command: top("--source sim:256"), size: [80, 24], isOurs: true },
  { name: "gpulse top, 256 GPUs", command: top("--source sim:256"), size: [200, 60], isOurs: true },
  { name: "256 GPUs of a hub", command: top(`--url ${hubUrl}`), size: [80, 24], isOurs: true },
  { name: "256 GPUs of a hub", command: top(`--url ${hubUrl}`), size: [200, 60], isOurs: true },
  ...peers
    .filter(([name]) => isInstalled(name))
    .map(([name, command]) => ({ name, command, size: [200, 60] as const, isOurs: false })),
];

const tool = findTool("tmux");
if ("missing" in tool) throw new Error(tool.missing);
await ensureBuild();
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-top-"));
const tmux = (...args: string[]): string =>
  execFileSync(tool.path, ["-S", path.join(folder, "socket"), ...args], {
    encoding: "utf8",
  }).trim();
const hub = startProcess(process.execPath, [
  program,
  "up",
  "--no-open",
  "--source",
  "sim:256",
  "--log-level",
  "error",
  "--port",
  String(port),
  "--data",
  path.join(folder, "data"),
]);
try {
  await hub.waitForUrl(`${hubUrl}/-/ready`, 60_000);
  const started = contenders.map(start);
  process.stdout.write(`all at once: ${warmUpSeconds} s to warm up, then ${seconds} s\n`);
  await sleep(warmUpSeconds * 1_000);
  const before = started.map(({ pid }) => costOf(pid));
  const startMs = performance.now();
  await sleep(seconds * 1_000);
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  const rows = started.map(({ contender, pid }, at) => {
    const [was, now] = [before[at], costOf(pid)];
    return was === undefined || now === undefined
      ? { contender, percent: undefined, residentBytes: undefined }
      : {
          contender,
          percent: ((now.cpuSeconds - was.cpuSeconds) / elapsedSeconds) * 100,
          residentBytes: now.residentBytes,
        };
  });
  print(rows);
} finally {
  try {
    tmux("kill-server");
  } catch {
    // Every session has ended by itself.
  }
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
}

function start(contender: Contender, at: number): { contender: Contender; pid: number } {
  const [columns, rows] = contender.size;
  const session = `c${at}`;
  const variables = ["-e", "LANG=C.UTF-8", "-e", "COLORTERM=truecolor"];
  const size = ["-x", String(columns), "-y", String(rows)];
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-s",
    session,
    ...size,
    ...variables,
    "sh",
    "-c",
    contender.command,
  );
  return { contender, pid: Number(tmux("display-message", "-p", "-t", session, "#{pane_pid}")) };
}

function costOf(pid: number): ReturnType<typeof processCost> | undefined {
  try {
    return processCost(pid);
  } catch {
    return undefined;
  }
}

interface Measured {
  readonly contender: Contender;
  readonly percent: number | undefined;
  readonly residentBytes: number | undefined;
}

function print(rows: readonly Measured[]): void {
  const peer = rows.find(({ contender, percent }) => !contender.isOurs && percent !== undefined);
  const lines = rows.map(({ contender, percent, residentBytes }) => {
    const [columns, lineCount] = contender.size;
    if (percent === undefined || residentBytes === undefined)
      return `${contender.name.padEnd(22)} ended by itself: it needs what this machine has not`;
    const ratio =
      contender.isOurs && peer?.percent !== undefined && peer.percent > 0
        ? `  ${(percent / peer.percent).toFixed(2)} × ${peer.contender.name}`
        : "";
    const verdict = contender.isOurs ? (percent < budgetPercent ? "  ok" : "  OVER 2 %") : "";
    return `${contender.name.padEnd(22)} ${`${columns}×${lineCount}`.padEnd(7)} ${percent.toFixed(2).padStart(6)} % of a core  ${(residentBytes / 2 ** 20).toFixed(0).padStart(4)} MiB${ratio}${verdict}`;
  });
  process.stdout.write(`${lines.join("\n")}\n`);
}

function isInstalled(name: string): boolean {
  return (process.env["PATH"] ?? "").split(path.delimiter).some((place) => {
    try {
      accessSync(path.join(place, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
