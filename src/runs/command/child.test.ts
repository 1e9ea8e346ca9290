import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { type CommandOptions, CommandStartError, runChild } from "./child.ts";

const node = process.execPath;

function options(command: readonly string[], more: Partial<CommandOptions> = {}) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const said = { stdout: "", stderr: "", seen: "" };
  stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString("latin1")));
  stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString("latin1")));
  const given: CommandOptions = {
    command,
    env: process.env,
    capture: true,
    stdout,
    stderr,
    onChunk: (chunk, stream) => (said.seen += `${stream}:${chunk.toString("latin1")};`),
    signals: new EventEmitter(),
    atTerminal: false,
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    ...more,
  };
  return { given, said };
}

test("bytes pass through as they are, streams apart, and so does the exit code", async () => {
  const program = `process.stdout.write(Buffer.from([0, 255, 10, 27])); process.stderr.write("oops"); process.exitCode = 7`;
  const { given, said } = options([node, "-e", program]);
  const end = await runChild(given);
  expect(said.stdout).toBe("\u0000\u00ff\n\u001b");
  expect(said.stderr).toBe("oops");
  expect(end).toMatchObject({ exitCode: 7, passCode: 7 });
  expect(end.endedMs - end.startedMs).toBeCloseTo(end.durationSeconds * 1_000, 3);
});

test("much output comes whole and in order", async () => {
  const program = `for (let i = 0; i < 40000; i++) console.log("line " + i)`;
  const { given, said } = options([node, "-e", program]);
  await runChild(given);
  expect(said.stdout.split("\n").slice(0, -1)).toEqual(
    Array.from({ length: 40_000 }, (_, at) => `line ${at}`),
  );
});

test.each(["SIGINT", "SIGTERM", "SIGUSR2"] as const)("%s reaches the command", async (signal) => {
  const signals = new EventEmitter();
  const program = `process.on("${signal}", () => { console.log("got it"); process.exit(3) }); setInterval(() => {}, 1000); console.log("ready")`;
  const { given, said } = options([node, "-e", program], { signals });
  given.stdout.once("data", () => signals.emit(signal));
  expect(await runChild(given)).toMatchObject({ exitCode: 3 });
  expect(said.stdout).toBe("ready\ngot it\n");
});

test("a command that a signal ends gives 128 and its number", async () => {
  const { given } = options([node, "-e", "process.kill(process.pid, 'SIGKILL')"]);
  expect(await runChild(given)).toMatchObject({
    exitCode: null,
    signal: "SIGKILL",
    passCode: 137,
  });
});

test("a terminal's own Ctrl-C is not sent a second time", async () => {
  const signals = new EventEmitter();
  const program = `process.on("SIGINT", () => process.exit(3)); console.log("ready"); setTimeout(() => process.exit(0), 300)`;
  const { given } = options([node, "-e", program], { signals, atTerminal: true });
  given.stdout.once("data", () => signals.emit("SIGINT"));
  expect(await runChild(given)).toMatchObject({ exitCode: 0 });
});

test.each([
  ["/no/such/program", 127],
  ["/etc/passwd", 126],
] as const)("%s cannot be started: %i", async (program, passCode) => {
  const { given } = options([program]);
  const thrown: unknown = await runChild(given).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(CommandStartError);
  expect((thrown as CommandStartError).passCode).toBe(passCode);
});

test("signals are let go of when it has ended", async () => {
  const signals = new EventEmitter();
  await runChild(options([node, "-e", ""], { signals }).given);
  expect(signals.eventNames()).toEqual([]);
});
