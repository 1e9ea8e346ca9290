/** Runs vendor tools for a capture: each with a timeout and an output limit, sequentially, never through a shell. */
import { execFile } from "node:child_process";
import { systemCode } from "../../base/error.ts";

export interface CommandOutput {
  readonly command: readonly string[];
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const deadlineMs = 15_000;
const maxOutputBytes = 8 * 1024 * 1024;

/** Returns undefined if the program is not installed. */
export function runForCapture([command, ...args]: readonly [string, ...string[]]): Promise<
  CommandOutput | undefined
> {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { timeout: deadlineMs, killSignal: "SIGKILL", maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        if (systemCode(error) === "ENOENT") return resolve(undefined);
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ command: [command, ...args], exitCode, stdout, stderr });
      },
    );
  });
}
