/**
 * Runs amd-smi and rocm-smi: never two at once, never longer than the deadline, with growing pauses while they fail. They are
 * Python programs that take seconds of processor time, so no fast reading may wait for them.
 */
import { spawn } from "node:child_process";
import { absenceOf, failed, present, type ReadResult } from "../../../machine/sysfs/read-result.ts";

export interface ToolRunnerOptions {
  readonly deadlineMs: number;
  /** Search path of the commands; set only by tests. */
  readonly path?: string | undefined;
}

const mostBytes = 4 << 20;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;

export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  #running = false;
  #failures = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
  }

  /** Returns the command's output. `unsupported`: it is not installed; `failed`: it failed, timed out, is still running or is paused. */
  async run(timeMs: number, command: string, args: readonly string[]): Promise<ReadResult<string>> {
    if (this.#running || timeMs < this.#pausedUntilMs) return failed;
    this.#running = true;
    const output = await this.#start(command, args);
    this.#running = false;
    if (output.ok) {
      this.#failures = 0;
      return output;
    }
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10));
    this.#failures++;
    this.#pausedUntilMs = timeMs + pauseMs;
    return output;
  }

  #start(command: string, args: readonly string[]): Promise<ReadResult<string>> {
    const { deadlineMs, path } = this.#options;
    return new Promise((resolve) => {
      const child = spawn(command, args, {
        stdio: ["ignore", "pipe", "ignore"],
        env: { ...process.env, ...(path === undefined ? {} : { PATH: path }) },
        timeout: deadlineMs,
        killSignal: "SIGKILL",
      });
      const parts: Buffer[] = [];
      let length = 0;
      child.stdout.on("data", (part: Buffer) => {
        length += part.length;
        if (length > mostBytes) child.kill("SIGKILL");
        else parts.push(part);
      });
      child.on("error", (error) => resolve(absenceOf(error)));
      // A child of the killed command may keep its output open; do not wait for that.
      child.on("exit", (_code, signal) => {
        if (signal !== null) resolve(failed);
      });
      child.on("close", () => resolve(present(Buffer.concat(parts).toString("utf8"))));
    });
  }
}
