/**
 * Supervises one pipe while it is wanted: restarts it with back-off when it fails, gives up after a number of consecutive
 * failures, and stops it on request. Independent of the stored list.
 */
import type { Log } from "../../base/log.ts";
import { PipeChild, type PipeChildOptions, type PipeProblem } from "./child.ts";
import { countsIn, type PipeCounts, type PipeSample } from "./page.ts";

export type PipeRunState = "running" | "waiting" | "stopping" | "stopped" | "done" | "failed";

export interface PipeRunOptions extends PipeChildOptions {
  readonly name: string;
  readonly log: Log;
  /** Back-off after this many consecutive failures; undefined gives up. */
  readonly pauseMs: (failures: number) => number | undefined;
  /** Called when the pipe has reached the end of its data. */
  readonly onDone: () => void;
}

/** A run of at least this length resets the count of consecutive failures. */
const settledMs = 60_000;

export class PipeRun {
  state: PipeRunState = "stopped";
  sinceMs: number;
  problem: PipeProblem | undefined;
  restarts = 0;
  readonly #options: PipeRunOptions;
  #child: PipeChild | undefined;
  #pause: NodeJS.Timeout | undefined;
  #failures = 0;
  /** True if a start was requested while it was stopping. */
  #again = false;
  #counts: PipeCounts | undefined;

  constructor(options: PipeRunOptions) {
    this.#options = options;
    this.sinceMs = options.nowMs();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Samples of the current run; empty if it is not running, so that an old lag is not reported as current. */
  get samples(): readonly PipeSample[] {
    return this.#child?.samples ?? [];
  }

  /** Counters of the current run, or of the last one. */
  get counts(): PipeCounts | undefined {
    const samples = this.#child?.samples;
    return samples === undefined ? this.#counts : countsIn(samples);
  }

  get behindSeconds(): number | undefined {
    return this.#child?.behindSeconds;
  }

  get lastProblem(): PipeProblem | undefined {
    return this.#child?.problem ?? this.problem;
  }

  async read(): Promise<void> {
    await this.#child?.read();
  }

  start(): void {
    if (this.#child !== undefined) {
      // Waits for a run that is stopping: two would write to the same place.
      this.#again = this.state === "stopping";
      return;
    }
    clearTimeout(this.#pause);
    this.#again = false;
    this.#failures = 0;
    this.restarts = 0;
    this.problem = undefined;
    this.#counts = undefined;
    this.#begin();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#pause);
    this.#again = false;
    const child = this.#child;
    if (child === undefined) {
      if (this.state !== "done") this.#turn("stopped");
      return;
    }
    if (this.state !== "stopping") this.#turn("stopping");
    child.end();
    await child.ended;
  }

  #begin(): void {
    const child = new PipeChild(this.#options);
    this.#child = child;
    this.#turn("running");
    const startedMs = this.#options.nowMs();
    void child.ended.then((exit) => {
      this.#child = undefined;
      if (child.samples !== undefined)
        this.#counts = { ...countsIn(child.samples), lagSeconds: undefined, lagRecords: undefined };
      this.problem = child.problem ?? this.problem;
      if (this.state === "stopping") {
        this.#turn("stopped");
        return this.#again ? this.start() : undefined;
      }
      if (exit.code === 0) {
        this.#turn("done");
        return this.#options.onDone();
      }
      const nowMs = this.#options.nowMs();
      const words = child.lastWords;
      this.problem = { text: words === "" ? exit.how : words, atMs: nowMs };
      return this.#failed(nowMs - startedMs >= settledMs, exit.how);
    });
  }

  #failed(wasSettled: boolean, how: string): void {
    const { name, log, pauseMs } = this.#options;
    this.#failures = wasSettled ? 1 : this.#failures + 1;
    const waitMs = pauseMs(this.#failures);
    if (waitMs === undefined) {
      log.error("pipe failed too often: not restarted", { pipe: name, how });
      return this.#turn("failed");
    }
    log.warn("pipe failed: restarting", { pipe: name, how, pauseMs: waitMs });
    this.#turn("waiting");
    this.#pause = setTimeout(() => {
      this.restarts++;
      this.#begin();
    }, waitMs);
    this.#pause.unref();
  }

  #turn(state: PipeRunState): void {
    this.state = state;
    this.sinceMs = this.#options.nowMs();
  }
}
