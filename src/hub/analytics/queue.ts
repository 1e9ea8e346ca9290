/**
 * Queue of analyses: runs one at a time, computes identical requests once, and caches results until the lake has new data.
 * DuckDB's own threads do the work; an analysis that exceeds the timeout is aborted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Analysis, AnalysisResult } from "../../lake/analyses/analysis.ts";
import {
  emptyLake,
  type LakeFiles,
  listLake,
  localPaths,
  pathsOf,
} from "../../lake/analyses/lake-files.ts";
import {
  type AnalysisSettings,
  type RawParameters,
  readParameters,
} from "../../lake/analyses/parameters.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import type { FileStore } from "../../net/objects/store.ts";
import type { Log } from "../../base/log.ts";
import type { HubLake } from "../api/context.ts";

export interface AnalysisQueueOptions {
  readonly lake: HubLake;
  /** Folder for cached copies of a remote lake. */
  readonly cacheDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly memoryBytes?: number;
  readonly timeoutMs?: number;
}

export type AnalysisJobState = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface AnalysisJob {
  readonly id: string;
  readonly analysis: Analysis;
  readonly key: string;
  readonly ended: Promise<void>;
  state: AnalysisJobState;
  fraction: number;
  result?: AnalysisResult;
  problem?: GpulseError;
  cancel(): void;
}

const maxWaiting = 16;
const maxFinishedJobs = 64;
const defaultTimeoutMs = 300_000;
const defaultMemoryBytes = 2 ** 30;
const cacheBytes = 10 * 2 ** 30;
/** Minimum interval between flushes of buffered rows caused by requests: small files make every later read slower. */
const flushEveryMs = 300_000;
/** Relative times move; requests within this window count as identical. */
const sameMs = 300_000;

export class AnalysisQueue {
  readonly #options: AnalysisQueueOptions;
  /** By id, oldest first; completed jobs are the cache. */
  readonly #jobs = new Map<string, AnalysisJob>();
  readonly #closing = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #store: Promise<FileStore> | undefined;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(options: AnalysisQueueOptions) {
    this.#options = options;
  }

  job(id: string): AnalysisJob | undefined {
    return this.#jobs.get(id);
  }

  /** Returns the job for this request: a new one, or one that is running or completed. @throws GpulseError */
  async ask(analysis: Analysis, given: RawParameters): Promise<AnalysisJob> {
    const nowMs = this.#options.nowMs();
    const settings = readParameters(given, nowMs);
    const lake = await this.#list(settings, analysis);
    if (lake.files.length === 0) throw emptyLake("The hub's lake", analysis.table);
    const asked = Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([analysis.name, asked, lake.version, Math.floor(nowMs / sameMs)]);
    for (const job of this.#jobs.values())
      if (job.key === key && job.state !== "failed" && job.state !== "cancelled") return job;
    const waiting = [...this.#jobs.values()].filter(({ state }) => state === "waiting").length;
    if (waiting >= maxWaiting)
      throw new GpulseError(
        "ANALYSIS_TOO_LARGE",
        "Too many analyses are waiting: try again in a minute.",
      );
    return this.#start(analysis, settings, key);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const job of this.#jobs.values()) job.cancel();
    await this.#last;
    (await this.#store?.catch(() => undefined))?.close();
  }

  async #list(settings: AnalysisSettings, { table }: Analysis): Promise<LakeFiles> {
    const { lake, env, nowMs, log } = this.#options;
    if (nowMs() - this.#flushedMs >= flushEveryMs) {
      this.#flushedMs = nowMs();
      const soon = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(10_000)]);
      await lake.flush(soon).catch((thrown: unknown) =>
        log.warn("lake is behind: analyses miss the newest rows", {
          error: formatError(thrown),
        }),
      );
    }
    this.#store ??= openFiles(lake.place, env);
    return listLake(await this.#store, settings, this.#closing.signal, table);
  }

  #start(analysis: Analysis, settings: AnalysisSettings, key: string): AnalysisJob {
    const stop = new AbortController();
    const turn = this.#last;
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const job: AnalysisJob = {
      id: String(++this.#count),
      analysis,
      key,
      ended,
      state: "waiting",
      fraction: 0,
      cancel: () => stop.abort(new GpulseError("ANALYSIS_FAILED", "The analysis was cancelled.")),
    };
    this.#jobs.set(job.id, job);
    this.#forget();
    this.#last = turn.then(() => this.#run(job, settings, stop)).finally(end);
    return job;
  }

  async #run(job: AnalysisJob, settings: AnalysisSettings, stop: AbortController): Promise<void> {
    const { timeoutMs = defaultTimeoutMs, log } = this.#options;
    const timer = setTimeout(
      () =>
        stop.abort(
          new GpulseError(
            "ANALYSIS_TOO_LARGE",
            `It took longer than ${timeoutMs / 1_000} s: ask for fewer days, or use gpulse analyze.`,
          ),
        ),
      timeoutMs,
    );
    try {
      stop.signal.throwIfAborted();
      job.state = "running";
      job.result = await this.#answer(job, settings, stop.signal);
      job.state = "done";
      job.fraction = 1;
    } catch (thrown) {
      job.state = stop.signal.aborted && this.#isCancel(stop.signal) ? "cancelled" : "failed";
      job.problem =
        thrown instanceof GpulseError
          ? thrown
          : new GpulseError("ANALYSIS_FAILED", `The analysis failed: ${formatError(thrown)}`, {
              cause: thrown,
            });
      if (job.state === "failed")
        log.warn("analysis failed", {
          analysis: job.analysis.name,
          error: job.problem.message,
        });
    } finally {
      clearTimeout(timer);
    }
  }

  #isCancel(signal: AbortSignal): boolean {
    return signal.reason instanceof GpulseError && signal.reason.code === "ANALYSIS_FAILED";
  }

  async #answer(
    job: AnalysisJob,
    settings: AnalysisSettings,
    signal: AbortSignal,
  ): Promise<AnalysisResult> {
    const { runOnDuckdb } = await import("../../lake/analyses/duckdb/engine.ts");
    const { cacheDir, memoryBytes = defaultMemoryBytes } = this.#options;
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-analytics-"));
    try {
      for (let attempt = 0; ; attempt++) {
        const lake = await this.#list(settings, job.analysis);
        try {
          const store = await openFiles(this.#options.lake.place, this.#options.env);
          const paths = await localPaths(store, lake, { cacheDir, cacheBytes, signal }).finally(
            () => store.close(),
          );
          const [result] = await runOnDuckdb(
            {
              analyses: [job.analysis],
              settings,
              ...pathsOf(lake, paths),
              span: lake.span,
              signal,
              onProgress: (fraction) => (job.fraction = fraction),
            },
            { tempDir: path.join(dir, "duckdb"), memoryBytes },
          );
          if (result === undefined) throw new Error("BUG: one analysis, no answer");
          return result;
        } catch (thrown) {
          // Files may be merged while they are read; the analysis then runs again on the merged ones.
          if (
            attempt > 0 ||
            signal.aborted ||
            (await this.#list(settings, job.analysis)).version === lake.version
          )
            throw thrown;
        }
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  #forget(): void {
    for (const job of this.#jobs.values()) {
      if (this.#jobs.size <= maxFinishedJobs) return;
      if (job.state !== "waiting" && job.state !== "running") this.#jobs.delete(job.id);
    }
  }
}
