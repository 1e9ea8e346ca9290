// One run of one program: its own process group, its output in a bounded file, its end reported once. Must never outlive the
// supervisor: if setpriv is available, the kernel ends it when we exit, however we exit.

import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import type { LogFile } from "./log-file.ts";
import type { Service } from "./service.ts";

// Longer than a worker may take to finish its job.
const KILL_AFTER_MS = 22_000;
const SETPRIV = "/usr/bin/setpriv";

export interface Child {
  readonly pid: number;
  readonly startedMs: number;
  lastWord(): string;
  ended(): string | undefined;
  signal(name: NodeJS.Signals): void;
  /** Sends its own signal first, SIGKILL after a while; resolves when it has exited. */
  stop(): Promise<void>;
}

export interface LaunchOptions {
  readonly service: Service;
  readonly log: LogFile;
  /** Files to which the process writes its id before it becomes the program: cgroup.procs of its groups. */
  readonly joins: readonly string[];
  readonly onEnd: (why: string, ranMs: number) => void;
  readonly nowMs: () => number;
}

export function launch({ service, log, joins, onEnd, nowMs }: LaunchOptions): Child {
  const [program, ...args] = wrapped(service.command, joins);
  const child = spawn(program, args, {
    cwd: service.cwd,
    env: { ...process.env, ...service.env },
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C reaches a whole foreground group at once, and then nothing would stop in order.
    detached: true,
  });
  const startedMs = nowMs();
  let ended: string | undefined;
  const end = (why: string): void => {
    if (ended !== undefined) return;
    ended = why;
    endGroup(child.pid);
    onEnd(why, nowMs() - startedMs);
  };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => log.write(part));
  child.once("error", (error) => end(`could not start: ${error.message}`));
  child.once("exit", (code, signal) =>
    end(signal === null ? `exit code ${code}` : `ended by ${signal}`),
  );
  const signal = (name: NodeJS.Signals): void => {
    if (ended === undefined) child.kill(name);
  };
  return {
    pid: child.pid ?? -1,
    startedMs,
    lastWord: () => log.lastLine(),
    ended: () => ended,
    signal,
    stop: async () => {
      signal(service.stopSignal ?? "SIGTERM");
      const deadlineMs = nowMs() + KILL_AFTER_MS;
      while (hasNotEnded() && nowMs() < deadlineMs) await sleep(20);
      signal("SIGKILL");
      while (hasNotEnded()) await sleep(20);
    },
  };

  function hasNotEnded(): boolean {
    return ended === undefined;
  }
}

/** The workers of a killed master would hold its port for ever; they are in the process group. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is empty, as expected.
  }
}

function wrapped(
  command: readonly [string, ...string[]],
  joins: readonly string[],
): readonly [string, ...string[]] {
  const joined: readonly [string, ...string[]] =
    joins.length === 0
      ? command
      : [
          "/bin/sh",
          "-c",
          'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1"; shift; n=$((n - 1)); done; exec "$@"',
          "sh",
          String(joins.length),
          ...joins,
          ...command,
        ];
  if (!canFollowParent() || command[0] === SETPRIV) return joined;
  // Not SIGKILL: it would leave the workers of a master.
  return [SETPRIV, "--pdeathsig", "SIGTERM", "--", ...joined];
}

function canFollowParent(): boolean {
  try {
    accessSync(SETPRIV, constants.X_OK);
    return process.platform === "linux";
  } catch {
    return false;
  }
}
