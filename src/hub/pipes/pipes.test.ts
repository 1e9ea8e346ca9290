import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import { GpulseError } from "../../base/error.ts";
import { silentLog } from "../../base/log.ts";
import { PageWriter } from "../../formats/prometheus/page.ts";
import { pipeProgram } from "../../../test/fixtures/hub/pipes.ts";
import { Pipes, type PipesOptions } from "./pipes.ts";
import type { PipeSpec } from "./spec.ts";

let dataDir = "";
const opened: Pipes[] = [];
beforeEach(() => (dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-pipes-"))));
afterEach(async () => {
  for (const pipes of opened.splice(0)) await pipes.halt();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(changes: Partial<PipesOptions> = {}): Pipes {
  const pipes = new Pipes({
    dataDir,
    hostName: "lab",
    program: pipeProgram(dataDir),
    env: { PIPE_PASSWORD: "correct horse" },
    log: silentLog,
    nowMs: Date.now,
    check: async () => {},
    pauseMs: (failures) => (failures > 2 ? undefined : 20),
    pollMs: 50,
    graceMs: 5_000,
    ...changes,
  });
  opened.push(pipes);
  return pipes;
}

const wanted = (name: string, from: string, changes: Partial<PipeSpec> = {}): PipeSpec => ({
  name,
  kind: "pipe",
  from: [from],
  to: ["parquet:lake"],
  options: {},
  ...changes,
});
const soon = { timeout: 20_000, interval: 30 };
const state = (pipes: Pipes, id: string) => () => pipes.shown(id)?.state;

test("a pipe runs, its counts are read from its own metrics, and it stops when asked", async () => {
  const pipes = open();
  const id = await pipes.add(wanted("lake", "sim:1"));
  await expect.poll(() => pipes.shown(id)?.frames, soon).toBe(42);
  expect(pipes.shown(id)).toMatchObject({
    state: "running",
    wanted: "running",
    deadLetters: 2,
    lagSeconds: 0.25,
    lagRecords: 7,
    trouble: null,
  });
  const page = new PageWriter("text").write([new SelfFrames().at(0, [pipes.selfMetrics])]);
  expect(page).toMatch(/gpulse_pipe_frames_total\{source="lake\/sim"\} 41\b/);
  await pipes.stop(id);
  expect(pipes.shown(id)).toMatchObject({
    state: "stopped",
    wanted: "stopped",
    frames: 42,
    lagSeconds: null,
    lagRecords: null,
  });
});

test("what was wanted before the hub ended is what it does after", async () => {
  const first = open();
  const [on, off] = [
    await first.add(wanted("on", "sim:1")),
    await first.add(wanted("off", "sim:2")),
  ];
  const done = await first.add(wanted("done", "end:"));
  await expect.poll(state(first, done), soon).toBe("done");
  await first.stop(off);
  await first.close();
  opened.pop();
  const second = open();
  expect([on, off, done].map((id) => state(second, id)())).toEqual(["running", "stopped", "done"]);
  second.start(done);
  expect(second.shown(done)?.wanted).toBe("running");
});

test("one that fails is started again, then given up with its last words and no secret in them", async () => {
  const pipes = open();
  const to = ["kafka://b/t?username=me&password=${PIPE_PASSWORD}"];
  const id = await pipes.add(wanted("broken", "bad:", { to }));
  await expect.poll(state(pipes, id), soon).toBe("failed");
  expect(pipes.shown(id)).toMatchObject({
    restarts: 2,
    frames: null,
    to,
    trouble: { text: "It cannot be: <secret>" },
  });
});

test("a replay reports how far it is behind, and is given its options", async () => {
  const pipes = open();
  const options = { speed: "2", loop: true };
  const id = await pipes.add(wanted("again", "args:", { kind: "replay", options }));
  await expect.poll(() => pipes.shown(id)?.trouble?.text, soon).toContain("--speed=2");
  expect(pipes.shown(id)).toMatchObject({ state: "running", lagSeconds: 2.5 });
  const args = JSON.parse(pipes.shown(id)?.trouble?.text ?? "") as string[];
  const folder = path.join(dataDir, "pipes", id);
  expect(args.join(" ")).toBe(
    `--speed=2 --loop --to=parquet:lake --port=0 --host=127.0.0.1 --log-level=info --data=${folder} --host-name=lab -- args:`,
  );
});

test("a warning of a running pipe is its problem, and it runs on", async () => {
  const pipes = open();
  const id = await pipes.add(wanted("warned", "warns:"));
  await expect
    .poll(() => pipes.shown(id)?.trouble?.text, soon)
    .toBe("the broker is away sink=kafka");
  expect(pipes.shown(id)?.state).toBe("running");
});

test("one that does not listen is ended when its grace is over, and one that is started meanwhile runs again", async () => {
  const pipes = open({ graceMs: 100 });
  const id = await pipes.add(wanted("deaf", "deaf:"));
  await expect.poll(() => pipes.shown(id)?.frames, soon).toBe(42);
  const stopped = pipes.stop(id);
  expect(state(pipes, id)()).toBe("stopping");
  pipes.start(id);
  await stopped;
  expect(pipes.shown(id)).toMatchObject({ state: "running", wanted: "running" });
});

test("a removed pipe is gone, with its process and from the list", async () => {
  const pipes = open();
  const id = await pipes.add(wanted("gone", "sim:1"));
  await pipes.remove(id);
  expect([pipes.ids(), pipes.shown(id)]).toEqual([[], undefined]);
});

test.each<[string, Partial<PipeSpec>, string]>([
  ["a password in plain text", { to: ["mqtt://u:hunter22@h"] }, "is in plain text"],
  ["a token in plain text", { to: ["hub+http://h?token=gpulse_push_1"] }, "token is in plain text"],
  ["a program to run", { from: ["nvidia:?smi=/bin/evil"] }, "names a program"],
  ["a library to load", { from: ["nvidia:?library=/evil.so"] }, "names a program"],
  ["a source in a source", { from: ["fault:nvidia:"] }, "takes no fault"],
  ["a terminal", { to: ["stdout:"] }, "takes no stdout"],
  ["two recordings", { kind: "replay", from: ["a", "b"] }, "one recording"],
  ["a pipe with a speed", { options: { speed: "2" } }, "are options of a replay"],
  ["a name that is taken", { name: "first" }, "another name"],
])("%s is refused in one sentence that shows no secret", async (_what, changes, says) => {
  const pipes = open();
  await pipes.add(wanted("first", "end:"));
  const refused = await pipes.add(wanted("x", "sim:1", changes)).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(GpulseError);
  expect(String(refused)).toContain(says);
  expect(String(refused)).not.toMatch(/hunter22|push_1/);
});

test("no more than sixteen are kept", async () => {
  const pipes = open();
  for (let at = 0; at < 16; at++) await pipes.add(wanted(`n${at}`, "end:"));
  await expect(pipes.add(wanted("one more", "end:"))).rejects.toThrow("16 pipes at most");
});
