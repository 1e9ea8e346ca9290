/**
 * Runs nvidia-smi with a deadline, never two at once, and with a growing back-off per command while it fails. A process that
 * cannot be killed because it hangs in the driver is not waited for, and blocks the next run.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { systemCode } from "../../../base/error.ts";

export interface SmiRunnerOptions {
  readonly command: string;
  readonly deadlineMs: number;
  readonly nowMs: () => number;
}

/** `missing`: the command is not installed. */
export class SmiError extends Error {
  readonly missing: boolean;

  constructor(message: string, missing = false) {
    super(message);
    this.missing = missing;
  }
}

const mostOutputBytes = 32 * 1024 * 1024;
const firstPauseMs = 2_000;
const longestPauseMs = 60_000;

interface Backoff {
  readonly failures: number;
  readonly untilMs: number;
  readonly error: SmiError;
}

export class SmiRunner {
  readonly #options: SmiRunnerOptions;
  #child: ChildProcess | undefined;
  #sinceMs = 0;
  /** One back-off per command: a failing pmon on a card that lacks it must not delay the readings. */
  readonly #backoffs = new Map<string, Backoff>();

  constructor(options: SmiRunnerOptions) {
    this.#options = options;
  }

  /**
   * Returns the standard output. Throws an SmiError if the command failed, timed out, still runs or is backing off. Some problems, such
   * as a corrupted infoROM, make it exit with an error after complete output: `isUsable` decides whether such output counts.
   */
  async run(
    args: readonly string[],
    isUsable: (output: string) => boolean = () => false,
  ): Promise<string> {
    const { command, nowMs } = this.#options;
    if (this.#child !== undefined) {
      const seconds = Math.round((nowMs() - this.#sinceMs) / 1_000);
      throw new SmiError(
        `${command} has been running for ${seconds} s; a second one is not started`,
      );
    }
    const question = args.join(" ");
    const backoff = this.#backoffs.get(question);
    if (backoff !== undefined && nowMs() < backoff.untilMs) {
      const seconds = Math.ceil((backoff.untilMs - nowMs()) / 1_000);
      const { message, missing } = backoff.error;
      throw new SmiError(`${message}; next try in ${seconds} s`, missing);
    }
    try {
      const output = await this.#spawn(args, isUsable);
      this.#backoffs.delete(question);
      return output;
    } catch (thrown) {
      const error = thrown instanceof SmiError ? thrown : new SmiError(String(thrown));
      const failures = (backoff?.failures ?? 0) + 1;
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 20));
      this.#backoffs.set(question, { failures, untilMs: nowMs() + pauseMs, error });
      throw error;
    }
  }

  close(): void {
    this.#child?.kill("SIGKILL");
  }

  async #spawn(args: readonly string[], isUsable: (output: string) => boolean): Promise<string> {
    const { command, deadlineMs, nowMs } = this.#options;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
      this.#child = child;
      this.#sinceMs = nowMs();
      child.unref();
      const [output, errors]: [Buffer[], Buffer[]] = [[], []];
      let bytes = 0;
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        reject(new SmiError(`${command} gave no answer for ${deadlineMs / 1_000} s and was ended`));
      }, deadlineMs);
      const collect = (into: Buffer[]) => (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > mostOutputBytes) child.kill("SIGKILL");
        else into.push(chunk);
      };
      child.stdout.on("data", collect(output));
      child.stderr.on("data", collect(errors));
      child.once("error", (error) => {
        clearTimeout(timer);
        this.#child = undefined;
        const missing = systemCode(error) === "ENOENT";
        reject(new SmiError(`${command} cannot be started: ${error.message}`, missing));
      });
      child.once("close", (code) => {
        clearTimeout(timer);
        this.#child = undefined;
        const text = Buffer.concat(output).toString("utf8");
        if (code === 0 || (code !== null && isUsable(text))) return resolve(text);
        const reason = firstLine(Buffer.concat(errors).toString("utf8")) ?? firstLine(text);
        reject(
          new SmiError(
            `${command} exited with ${code ?? "a signal"}${reason === undefined ? "" : `: ${reason}`}`,
          ),
        );
      });
    });
  }
}

/** nvidia-smi explains an error in the first line of its output, on either stream. */
function firstLine(text: string): string | undefined {
  const line = text.trim().split("\n", 1)[0]?.trim().slice(0, 300);
  return line === "" ? undefined : line;
}
