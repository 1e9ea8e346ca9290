/** Runs the wrapped command transparently: its output, signals and exit code are passed through unchanged. */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { systemCode } from "../../base/error.ts";

export type StreamName = "stdout" | "stderr";

export interface CommandOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** False: the command inherits our streams, and its output is not captured. */
  readonly capture: boolean;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Receives every chunk; must not change it. */
  readonly onChunk: (chunk: Buffer, stream: StreamName) => void;
  /** The source of signals to this process. */
  readonly signals: SignalSource;
  /** On a terminal the command gets Ctrl-C and Ctrl-\ directly: it must not get them twice. */
  readonly atTerminal: boolean;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly onStart?: (pid: number) => void;
}

export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}

export interface CommandResult {
  readonly startedMs: number;
  readonly endedMs: number;
  readonly durationSeconds: number;
  readonly exitCode: number | null;
  readonly signal?: NodeJS.Signals;
  /** The exit code to return in its place: 128 + n for a signal. */
  readonly passCode: number;
}

/** The command could not be started; as in a shell, 127 means not found, 126 not executable. */
export class CommandStartError extends Error {
  readonly passCode: 126 | 127;

  constructor(message: string, passCode: 126 | 127, options: { cause: unknown }) {
    super(message, options);
    this.passCode = passCode;
  }
}

const forwarded: readonly NodeJS.Signals[] = [
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGHUP",
  "SIGUSR1",
  "SIGUSR2",
  "SIGCONT",
  "SIGWINCH",
];
const fromTerminal = new Set<NodeJS.Signals>(["SIGINT", "SIGQUIT", "SIGWINCH"]);

export async function runChild(options: CommandOptions): Promise<CommandResult> {
  const [program = "", ...args] = options.command;
  const startedMs = options.nowMs();
  const started = options.monotonicMs();
  const child = spawn(program, args, {
    env: options.env,
    stdio: options.capture ? ["inherit", "pipe", "pipe"] : "inherit",
    windowsHide: true,
  });
  const stopForwarding = forward(child, options);
  try {
    if (options.capture) {
      pass(child.stdout, options.stdout, "stdout", options.onChunk);
      pass(child.stderr, options.stderr, "stderr", options.onChunk);
    }
    if (child.pid !== undefined) options.onStart?.(child.pid);
    const end = await ended(child, program, options);
    const durationSeconds = (end.at - started) / 1_000;
    // Child processes may write output after the command's end: what is in the pipes is passed on.
    await end.closed;
    return {
      startedMs,
      endedMs: startedMs + durationSeconds * 1_000,
      durationSeconds,
      exitCode: end.code,
      ...(end.signal === null ? {} : { signal: end.signal }),
      passCode: end.code ?? 128 + (end.signal === null ? 0 : constants.signals[end.signal]),
    };
  } finally {
    stopForwarding();
  }
}

interface ChildExit {
  readonly at: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly closed: Promise<void>;
}

/** Limit for reading the pipes after the command's end, since a grandchild may keep them open for ever. */
const drainMs = 2_000;

function ended(
  child: ChildProcess,
  program: string,
  { monotonicMs }: CommandOptions,
): Promise<ChildExit> {
  return new Promise((resolve, reject) => {
    const closed = new Promise<void>((done) => void child.once("close", () => done()));
    child.once("error", (thrown) => reject(cannotStart(program, thrown)));
    child.once("exit", (code, signal) => {
      const at = monotonicMs();
      const enough = new Promise<void>((done) => void setTimeout(done, drainMs).unref());
      resolve({ at, code, signal, closed: Promise.race([closed, enough]) });
    });
  });
}

function cannotStart(program: string, thrown: unknown): CommandStartError {
  const code = systemCode(thrown);
  const missing = code === "ENOENT" || code === "ENOTDIR";
  const why = missing
    ? "there is no such program: check the name, the path and the working folder"
    : code === "EACCES"
      ? "this user may not execute it: run chmod +x, or name its interpreter"
      : `the system reports ${code ?? String(thrown)}`;
  return new CommandStartError(`${program} cannot be started: ${why}.`, missing ? 127 : 126, {
    cause: thrown,
  });
}

function pass(
  from: Readable | null,
  to: NodeJS.WritableStream,
  name: StreamName,
  onChunk: CommandOptions["onChunk"],
): void {
  if (from === null) return;
  from.on("data", (chunk: Buffer) => onChunk(chunk, name));
  from.pipe(to, { end: false });
  // The reader of our output has exited: the command's next write fails, as it would without us.
  to.once("error", () => from.destroy());
}

function forward(child: ChildProcess, { signals, atTerminal }: CommandOptions): () => void {
  const listeners = forwarded.flatMap((signal) => {
    if (constants.signals[signal] === undefined) return [];
    const listener = (): void => {
      if (atTerminal && fromTerminal.has(signal)) return;
      child.kill(signal);
    };
    signals.on(signal, listener);
    return [[signal, listener] as const];
  });
  return () => {
    for (const [signal, listener] of listeners) signals.off(signal, listener);
  };
}
