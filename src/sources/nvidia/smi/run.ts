/**
 * Runs nvidia-smi: with a deadline, never two at once, and each question less and less often while it fails. One that cannot even be killed,
 * because the driver holds it, is waited for by nobody and keeps the next from starting.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

export interface SmiRunnerOptions {
  readonly command: string;
  readonly deadlineMs: number;
  readonly nowMs: () => number;
}

const mostOutputBytes = 32 * 1024 * 1024;
const firstPauseMs = 2_000;
const longestPauseMs = 300_000;

interface Trouble {
  readonly failures: number;
  readonly untilMs: number;
  readonly says: string;
}

export class SmiRunner {
  readonly #options: SmiRunnerOptions;
  #child: ChildProcess | undefined;
  #sinceMs = 0;
  /** By question: a monitor this card does not have must not keep the readings from being asked for. */
  readonly #troubles = new Map<string, Trouble>();

  constructor(options: SmiRunnerOptions) {
    this.#options = options;
  }

  /** What it printed. Throws one sentence when it failed, was too late, still runs or is being left alone for a while. */
  async run(args: readonly string[]): Promise<string> {
    const { command, nowMs } = this.#options;
    if (this.#child !== undefined) {
      const seconds = Math.round((nowMs() - this.#sinceMs) / 1_000);
      throw new Error(`${command} has been running for ${seconds} s; a second one is not started`);
    }
    const question = args.join(" ").split("=", 1)[0] ?? "";
    const trouble = this.#troubles.get(question);
    if (trouble !== undefined && nowMs() < trouble.untilMs) {
      const seconds = Math.ceil((trouble.untilMs - nowMs()) / 1_000);
      throw new Error(`${trouble.says}; it is asked again in ${seconds} s`);
    }
    try {
      const output = await this.#spawn(args);
      this.#troubles.delete(question);
      return output;
    } catch (thrown) {
      const failures = (trouble?.failures ?? 0) + 1;
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 20));
      const says = thrown instanceof Error ? thrown.message : String(thrown);
      this.#troubles.set(question, { failures, untilMs: nowMs() + pauseMs, says });
      throw thrown;
    }
  }

  close(): void {
    this.#child?.kill("SIGKILL");
  }

  async #spawn(args: readonly string[]): Promise<string> {
    const { command, deadlineMs, nowMs } = this.#options;
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
      this.#child = child;
      this.#sinceMs = nowMs();
      child.unref();
      const chunks: Buffer[] = [];
      let bytes = 0;
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        reject(new Error(`${command} gave no answer for ${deadlineMs / 1_000} s and was ended`));
      }, deadlineMs);
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes > mostOutputBytes) child.kill("SIGKILL");
        else chunks.push(chunk);
      };
      child.stdout.on("data", take);
      child.stderr.on("data", take);
      child.once("error", (error) => {
        clearTimeout(timer);
        this.#child = undefined;
        reject(new Error(`${command} cannot be started: ${error.message}`));
      });
      child.once("close", (code) => {
        clearTimeout(timer);
        this.#child = undefined;
        const output = Buffer.concat(chunks).toString("utf8");
        if (code === 0) return resolve(output);
        const said = output.trim().split("\n", 1)[0]?.slice(0, 200) ?? "";
        reject(
          new Error(`${command} ended with ${code ?? "a signal"}${said === "" ? "" : `: ${said}`}`),
        );
      });
    });
  }
}
