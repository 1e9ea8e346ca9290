// Starts a program and shuts it down cleanly: invalid settings are reported in one line, SIGTERM and SIGINT let work in progress
// finish.

import { type Log, reasonOf } from "./log.ts";
import { SettingsError } from "./settings.ts";

const STOP_LIMIT_MS = 20_000;

export interface RunningProgram {
  readonly log: Log;
  stop(): Promise<void>;
}

export async function runProgram(
  name: string,
  start: () => Promise<RunningProgram>,
): Promise<void> {
  let started: RunningProgram;
  try {
    started = await start();
  } catch (error) {
    process.stderr.write(`${name}: ${reasonOf(error)}\n`);
    process.exitCode = error instanceof SettingsError ? 2 : 1;
    // Resources opened before the failure must not keep the process alive.
    setTimeout(() => process.exit(), 100).unref();
    return;
  }
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    started.log.info("stopping", { signal });
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    started.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        started.log.error("could not stop in good order", { error: reasonOf(error) });
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
}
