// Starts a program for a test, stores its output, and stops it by its process id. A program started here must never outlive the
// test process.

import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { waitUntil } from "./wait.ts";

const STOP_GRACE_MS = 5_000;
const OUTPUT_LIMIT_CHARS = 200_000;

export interface ProcessOptions {
  readonly name?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly pid: number;
  /** Everything it has printed so far, stdout and stderr in order. */
  output(): string;
  exited(): ExitStatus | undefined;
  /** Waits until its output matches. */
  waitForOutput(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>;
  /** Waits until the URL responds with a success. */
  waitForUrl(url: string, timeoutMs?: number): Promise<void>;
  waitForExit(timeoutMs?: number): Promise<ExitStatus>;
  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<ExitStatus>;
}

export function startProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): RunningProcess {
  const name = options.name ?? command;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let exit: ExitStatus | undefined;
  let startError: Error | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output = (output + text).slice(-OUTPUT_LIMIT_CHARS);
    });
  }
  const killNow = (): void => void child.kill("SIGKILL");
  process.once("exit", killNow);
  child.once("error", (error) => (startError = error));
  child.once("close", (code, signal) => {
    exit = { code, signal };
    process.off("exit", killNow);
  });

  const giveUp = (): string | undefined => {
    if (startError !== undefined) return `could not start: ${startError.message}`;
    if (exit === undefined) return undefined;
    return `ended with ${exit.signal ?? `exit code ${exit.code}`} after printing:\n${output.trim()}`;
  };
  const waitForExit = async (timeoutMs = 30_000): Promise<ExitStatus> =>
    waitUntil({ what: `${name} to end`, timeoutMs }, async () => {
      if (startError !== undefined) throw startError;
      return exit;
    });

  return {
    pid: child.pid ?? -1,
    output: () => output,
    exited: () => exit,
    waitForExit,
    waitForOutput: async (pattern, timeoutMs = 30_000) =>
      waitUntil(
        { what: `${name} to print ${String(pattern)}`, timeoutMs, giveUp },
        async () => output.match(pattern) ?? undefined,
      ),
    waitForUrl: async (url, timeoutMs = 30_000) => {
      await waitUntil({ what: `${name} to answer on ${url}`, timeoutMs, giveUp }, async () => {
        const response = await fetch(url);
        await response.arrayBuffer();
        return response.ok ? true : undefined;
      });
    },
    stop: async (graceMs = STOP_GRACE_MS) => {
      if (exit !== undefined) return exit;
      child.kill("SIGTERM");
      const deadlineMs = performance.now() + graceMs;
      while (exited() === undefined && performance.now() < deadlineMs) await sleep(20);
      if (exited() === undefined) child.kill("SIGKILL");
      return waitForExit(5_000);
    },
  };

  function exited(): ExitStatus | undefined {
    return exit;
  }
}

export interface FinishedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end with stdout and stderr separated; stops it after the timeout. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions & { readonly input?: string; readonly timeoutMs?: number } = {},
): Promise<FinishedProcess> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs ?? 60_000,
    killSignal: "SIGKILL",
    shell: process.platform === "win32" && command.endsWith(".cmd"),
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      const [out, err] = [stdout, stderr].map((parts) => Buffer.concat(parts).toString("utf8"));
      resolve({ code, stdout: out ?? "", stderr: err ?? "" });
    });
  });
}
