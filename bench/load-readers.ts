/** Controls the process that simulates many dashboards and pages, and reads its report. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../engines/wait.ts";

export interface ReaderSpec {
  readonly hubUrl: string;
  /** The number of hosts to choose from, and the prefix of their names. */
  readonly hosts: number;
  readonly prefix: string;
}

export interface ReaderReport {
  /** Refreshes of a whole dashboard. */
  refreshes: number;
  asked: number;
  answered: number;
  /** Responses that asked to retry later. */
  shed: number;
  failed: number;
  withoutRetryAfter: number;
  /** The last few thousand. */
  latenciesMs: number[];
  pagesOpen: number;
  pagesRefused: number;
  pageEvents: number;
  pageBytes: number;
}

const reader = fileURLToPath(new URL("./load-reader.ts", import.meta.url));
const tsx = fileURLToPath(import.meta.resolve("tsx"));

export class LoadReaders {
  readonly #child: ChildProcess;
  #report: ReaderReport | undefined;

  constructor(spec: ReaderSpec) {
    this.#child = fork(reader, [JSON.stringify(spec)], { execArgv: ["--import", tsx] });
    this.#child.on("message", (report) => (this.#report = report as ReaderReport));
    process.once("exit", () => this.#child.kill("SIGKILL"));
  }

  async ready(): Promise<void> {
    await waitUntil({ what: "the readers to begin", timeoutMs: 180_000 }, async () =>
      this.#report === undefined ? undefined : true,
    );
  }

  get now(): ReaderReport {
    if (this.#report === undefined) throw new Error("BUG: the readers have not begun");
    return this.#report;
  }

  /** Resets the counts; open pages stay open. */
  set(wanted: { dashboards: number; refreshMs: number; pages: number }): void {
    this.#report = undefined;
    this.#child.send({ ...wanted, forget: true });
  }

  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.send({ stop: true });
    setTimeout(() => this.#child.kill("SIGKILL"), 10_000).unref();
    await gone;
  }
}
