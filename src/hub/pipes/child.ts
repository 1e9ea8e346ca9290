/**
 * One run of `gpulse pipe` or `gpulse replay` as a child process: no shell, its last output retained with secrets redacted, its
 * counters read from its own metrics on loopback. Signals are sent to this process only.
 */
import { spawn } from "node:child_process";
import { request } from "../../net/http/request.ts";
import { type PipeSample, pipeSamples } from "./page.ts";

export interface PipeChildOptions {
  /** The program and its first arguments. */
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hide: (text: string) => string;
  readonly nowMs: () => number;
  readonly pollMs: number;
  /** Time from SIGTERM to SIGKILL: longer than the grace period of a pipe itself. */
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
  /** How far a replay is behind schedule, if reported. */
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
      // Makes the program exit when its parent is gone, so that it also ends if the hub is killed.
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

  /** The last lines on stderr, which explain why it ended. */
  get lastWords(): string {
    return this.#errors.join("\n");
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  end(): void {
    if (this.#hard !== undefined) return;
    this.#child.kill("SIGTERM");
    this.#hard = setTimeout(() => this.#child.kill("SIGKILL"), this.#options.graceMs);
  }

  /** Reads its counters; concurrent callers share one request. */
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
      // The process is ending or busy: the last counters stay until the next read.
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
