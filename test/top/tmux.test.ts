// gpulse top in a real terminal: what is seen, what keys do, and that the terminal is given back however it ends.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { ensureBuild, program, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { textWidth } from "../../src/top/text/width.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { TmuxTerminal } from "./tmux.ts";

beforeAll(ensureBuild, 300_000);

let tmux = "";
let terminal: TmuxTerminal | undefined;
beforeEach((context) => {
  tmux = toolOrSkip(context, "tmux");
});
afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

/** What the shell says afterwards shows whether the terminal is as it was. */
const AFTER = 'echo "ENDED $?"; stty -a | grep -o " icanon\\| echo "; exec sleep 600';

function open(
  args: string,
  size: readonly [columns: number, rows: number] = [80, 24],
  env: Readonly<Record<string, string>> = {},
): TmuxTerminal {
  const command = `echo BEFORE; '${process.execPath}' '${program}' top ${args}; ${AFTER}`;
  terminal = new TmuxTerminal(tmux, size[0], size[1], command, env);
  return terminal;
}

/** Everything back: the lines from before, the cursor, echo and line mode. */
async function expectRestored(screen: TmuxTerminal, code: number): Promise<string> {
  const text = (await screen.until(/ENDED \d+[\s\S]*echo/)).join("\n");
  expect(text).toContain("BEFORE");
  expect(text).toContain(`ENDED ${code}`);
  expect(text).toContain("icanon");
  expect(screen.state()).toEqual({ alternate: false, cursor: true, mouse: false });
  return text;
}

test.for([
  [80, 24, 8],
  [200, 60, 8],
  [80, 24, 256],
  [200, 60, 256],
] as const)(
  "at %i×%i with %i GPUs everything is on the screen and q gives it back",
  async ([columns, rows, gpus]) => {
    const screen = open(`--source sim:${gpus}`, [columns, rows]);
    const lines = await screen.until(/^ +0 +H200.*\d+%/m);
    expect(screen.state()).toEqual({ alternate: true, cursor: false, mouse: true });
    expect(lines[0]).toContain(`${gpus} GPUs`);
    expect(lines[0]).toContain("SIMULATED");
    expect(lines).toHaveLength(rows);
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines.at(-1)).toContain("quit");
    const [row = ""] = lines.filter((line) => /^ +0 +H200/.test(line));
    expect(row).toMatch(/[█░▏▎▍▌▋▊▉].*\d+%.*\d+(\/700)?W.*\d+(\/89)?°C/);
    if (gpus > 100) expect(lines.join("\n")).toContain("HEATMAP");
    screen.keys("q");
    await expectRestored(screen, 0);
  },
);

test("keys lead through pages, sort, filter, tree and pause; resizes are followed", async () => {
  const screen = open("--source sim:8");
  await screen.until(/^ +7 +H200/m);
  screen.keys("?");
  await screen.until("KEYS");
  screen.keys("Escape");
  await screen.until(/^ +7 +H200/m);
  screen.keys("Down", "Down", "Enter");
  await screen.until("GPU 2  NVIDIA H200");
  screen.keys("Escape");
  await screen.until("GPU▲");
  screen.keys("w");
  await screen.until("POWER▼");
  screen.keys("/");
  screen.bytes("training ada");
  await screen.until("Filter: training ada_");
  screen.keys("C-u");
  screen.bytes("nobody has this name");
  await screen.until("0 of 8 GPUs");
  screen.keys("Escape");
  await screen.until(/^ +7 +H200/m);
  screen.keys("t");
  await screen.until("└─");
  screen.keys("t", "Space");
  await screen.until("PAUSED");
  screen.keys("Space", "2");
  await screen.until("HEATMAP");
  screen.keys("1");
  for (const [columns, rows] of [
    [60, 15],
    [300, 80],
    [61, 6],
    [120, 30],
  ] as const) {
    screen.resize(columns, rows);
    await waitUntil({ what: `${columns}×${rows}`, timeoutMs: 10_000 }, async () => {
      const lines = screen.screen();
      const isWhole = lines.length === rows && lines.at(-1)?.includes("quit") === true;
      return (isWhole && lines[0]?.includes("gpulse top") === true) || undefined;
    });
  }
  screen.keys("g");
  await screen.until("GPU▲");
  screen.bytes("\u001b[<0;5;6M\u001b[<0;5;6m\u001b[<0;5;6M");
  await screen.until("GPU 2  NVIDIA H200");
  screen.keys("C-c");
  await expectRestored(screen, 0);
}, 120_000);

test.for(["TERM", "INT"] as const)("SIG%s gives the terminal back", async (signal) => {
  const screen = open("--source sim:2");
  await screen.until(/^ +1 +H200/m);
  const pid = topPid(screen);
  process.kill(pid, `SIG${signal}`);
  await expectRestored(screen, 0);
});

test("a crash gives the terminal back before it says what happened", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-crash-"));
  try {
    // Thrown from outside, through Node's own way to load something first: the program has no door for it.
    const now = path.join(folder, "now");
    const crash = path.join(folder, "crash.mjs");
    const fall = `if (existsSync(${JSON.stringify(now)})) throw new Error("fell over on purpose");`;
    writeFileSync(
      crash,
      `import { existsSync } from "node:fs"; setInterval(() => { ${fall} }, 50).unref();`,
    );
    const screen = open("--source sim:2", [100, 24], { NODE_OPTIONS: `--import ${crash}` });
    await screen.until(/^ +1 +H200/m);
    writeFileSync(now, "");
    const text = await expectRestored(screen, 1);
    expect(text).toContain("BUG: Error: fell over on purpose");
    expect(text.indexOf("BEFORE")).toBeLessThan(text.indexOf("BUG:"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a source that fails is named on the screen, and the others go on", async () => {
  const screen = open("--source fault:throw --source sim:1", [100, 24]);
  const lines = await screen.until("this source fails on purpose");
  expect(lines[2]).toMatch(/^ ! fault: /);
  await screen.until(/^ +0 +H200.*\d+%/m);
  screen.keys("q");
  await expectRestored(screen, 0);
});

test("a terminal without UTF-8 gets ASCII, and NO_COLOR no colour", async () => {
  const screen = open("--source sim:4", [100, 30], { LANG: "C", LC_ALL: "C", NO_COLOR: "1" });
  const lines = await screen.until(/^ +3 +H200/m);
  expect(lines.join("\n")).toMatch(/^[\n\u0020-\u007e]*$/);
  const coloured = screen.screen(true).join("\n");
  expect(coloured).toContain("\u001b[7m");
  expect(coloured).not.toMatch(/\[[\d;]*\b(?:[34][0-8]|9[0-7])[;m]/);
  screen.keys("q");
  await expectRestored(screen, 0);
});

test("an agent that ends is shown as lost, with the age of what it last said", async () => {
  const first = await startAgent(["--source", "sim:3", "--log-level", "error"]);
  const screen = open(`--url ${first.url}`, [120, 24]);
  try {
    await screen.until(/^ +2 +H200.*\d+%/m);
    screen.keys("Tab", "k");
    await screen.until("Only processes of this machine can be ended.");
  } finally {
    await first.stop();
  }
  await screen.until(/LOST, values are \d+ s old · retry in/);
  await screen.until(/^ +2 +H200.*\d+ s old/m);
  screen.keys("q");
  await expectRestored(screen, 0);
});

test("a process is ended behind two questions, and never without a yes", async (context) => {
  toolOrSkip(context, "gcc");
  const stub = await buildStub();
  // It takes no notice of SIGTERM, so that the harder question comes.
  const child: ChildProcess = spawn("sh", ["-c", 'trap "" TERM; while :; do sleep 1; done'], {
    stdio: "ignore",
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("BUG: sh was not started");
  try {
    stub.script("gpus 2", `process 0 ${pid} 5368709120 C`);
    const screen = open(`--source 'nvidia:?library=${stub.library}'`, [120, 30]);
    await screen.until(new RegExp(`^ +0 +${pid} +5.0GiB +60% +\\w+ +sh$`, "m"));
    // When it was started comes with the second look, and only then can it be asked about.
    screen.keys("t");
    await screen.until(new RegExp(`[└├]─ sh$`, "m"));
    screen.keys("Tab", "k");
    await screen.until(`Send SIGTERM to sh (pid ${pid})?`);
    screen.keys("n");
    await screen.until(`No signal was sent to pid ${pid}.`);
    expect(child.signalCode).toBeNull();
    screen.keys("k");
    await screen.until("Send SIGTERM to");
    screen.keys("y");
    await screen.until(`SIGTERM was sent to sh (pid ${pid}).`);
    await screen.until(`sh (pid ${pid}) is still running. Send SIGKILL?`);
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    screen.keys("y");
    await waitUntil({ what: "the process to end", timeoutMs: 10_000 }, () =>
      Promise.resolve(child.signalCode ?? undefined),
    );
    expect(child.signalCode).toBe("SIGKILL");
    screen.keys("q");
    await expectRestored(screen, 0);
  } finally {
    child.kill("SIGKILL");
    stub.remove();
  }
}, 60_000);

/** The pid of gpulse itself: the child of the shell. */
function topPid(screen: TmuxTerminal): number {
  const shell = screen.panePid();
  const children = readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8").trim().split(" ");
  const pid = Number(children[0]);
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`the shell ${shell} has no child`);
  return pid;
}
