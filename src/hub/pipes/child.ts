/**
 * One run of `gpulse pipe` or `gpulse replay` as a process of its own: no shell, its last words kept and hidden, its counts
 * read from its own metrics on loopback. Only this very process is ever signalled.
 */
import { spawn } from "node:child_process";
import { request } from "../../net/http/request.ts";
import { type PipeSample, pipeSamples } from "./page.ts";

export interface PipeChildOptions {
  /** The program and what stands before the command. */
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hide: (text: string) => string;
  readonly nowMs: () => number;
  readonly pollMs: number;
  /** From SIGTERM to SIGKILL: longer than the grace of a pipe itself. */
  readonly graceMs: number;
}

export interface PipeProblem {
  readonly text: string;
  readonly atMs: number;
}

export interface PipeExit {
  readonly code: number | null;
  readonly how: string;
}

const maxLineLetters = 2_000;
const maxErrorLines = 6;
const maxPageBytes = 1_048_576;

export class PipeChild {
  readonly ended: Promise<PipeExit>;
  samples: readonly PipeSample[] | undefined;
  /** How far a replay is behind its own pace, where it reported. */
  behindSeconds: number | undefined;
  problem: PipeProblem | undefined;
  readonly #options: PipeChildOptions;
  readonly #child;
  readonly #errors: string[] = [];
  #line = "";
  #metricsUrl: string | undefined;
  #reading: Promise<void> | undefined;
  #hard: NodeJS.Timeout | undefined;

  constructor(options: PipeChildOptions) {
    this.#options = options;
    const [program = "", ...before] = options.program;
    this.#child = spawn(program, [...before, ...options.args], {
      // With this variable the program ends when its parent is gone, also where a killed hub could not tell it to.
      env: { ...options.env, npm_command: "gpulse-hub" },
      stdio: ["ignore", "ignore", "pipe"],
      shell: false,
      windowsHide: true,
    });
    this.#child.stderr.setEncoding("utf8");
    this.#child.stderr.on("data", (text: string) => this.#readOutput(text));
    const poll = setInterval(() => void this.read(), options.pollMs);
    poll.unref();
    this.ended = new Promise((resolve) => {
      const end = (exit: PipeExit): void => {
        clearInterval(poll);
        clearTimeout(this.#hard);
        if (this.#line !== "") this.#readLine(this.#line);
        resolve(exit);
      };
      this.#child.once("error", (thrown) => end({ code: null, how: thrown.message }));
      this.#child.once("close", (code, signal) => {
        const how = code === null ? `ended by ${signal ?? "a signal"}` : `exit code ${code}`;
        end({ code, how });
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The last it said, for why it ended. */
  get lastWords(): string {
    return this.#errors.join("\n");
  }

  /** Asks it to end, and makes it when the grace is over. */
  end(): void {
    if (this.#hard !== undefined) return;
    this.#child.kill("SIGTERM");
    this.#hard = setTimeout(() => this.#child.kill("SIGKILL"), this.#options.graceMs);
  }

  /** Reads its counts, once for all who ask at the same time. */
  async read(): Promise<void> {
    const url = this.#metricsUrl;
    if (url === undefined) return;
    this.#reading ??= this.#readPage(url);
    await this.#reading;
    this.#reading = undefined;
  }

  async #readPage(url: string): Promise<void> {
    try {
      const { status, body } = await request(url, { timeoutMs: 5_000, maxBytes: maxPageBytes });
      if (status === 200) this.samples = pipeSamples(body.toString("utf8"));
    } catch {
      // It is about to end, or busy: it is asked again, and the last counts stand until then.
    }
  }

  #readOutput(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = (lines.pop() ?? "").slice(-maxLineLetters);
    for (const line of lines) this.#readLine(line.slice(0, maxLineLetters));
  }

  #readLine(line: string): void {
    const [, level, message = ""] =
      /^\d\d:\d\d:\d\d (debug|info|warn|error) +(.*)$/.exec(line) ?? [];
    if (level === "debug") return;
    if (level === "info") {
      this.#metricsUrl ??= /^metrics of this pipe url="?(http:\/\/127\.0\.0\.1:\d+\/metrics)/.exec(
        message,
      )?.[1];
      return;
    }
    if (/^(?: *\d+ % {2})?[\d,]+ frames? {2}[\d,]+\/s/.test(line)) {
      this.behindSeconds = Number(/([\d.]+) s behind/.exec(line)?.[1] ?? 0);
      return;
    }
    if (line.trim() === "") return;
    const text = this.#options.hide(level === undefined ? line.replace(/^gpulse: /, "") : message);
    this.#errors.push(text);
    if (this.#errors.length > maxErrorLines) this.#errors.shift();
    this.problem = { text, atMs: this.#options.nowMs() };
  }
}
