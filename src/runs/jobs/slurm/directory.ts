/**
 * Slurm as the ledger's job directory: polls the controller every few seconds, and accounting for ended jobs. While the
 * controller is down nothing is reported and `problem` gives the reason; afterwards accounting supplies what was missed.
 */
import { formatError } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import { backoffMs, pause } from "../../../base/retry.ts";
import { parseSlurmAccounting } from "../../../formats/slurm/accounting.ts";
import type { SlurmJobs } from "../../../formats/slurm/document.ts";
import { parseSlurmQueue } from "../../../formats/slurm/queue.ts";
import type { SchedulerJob } from "../../../model/scheduler-job.ts";
import type { JobDirectory, SchedulerReport } from "../directory.ts";
import type { SlurmClient } from "./commands.ts";
import { SlurmTracker } from "./tracker.ts";

export interface SlurmDirectoryOptions {
  readonly client: SlurmClient;
  readonly intervalMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random?: () => number;
}

/**
 * A job's start is the time at which the controller's scheduling pass began, and the job is listed only after the pass, which may
 * take two seconds (max_sched_time); Slurm's times are whole seconds.
 */
const completeAfterMs = 3_000;
/** A longer gap between listings may hide whole jobs: the controller forgets ended ones (MinJobAge). */
const maxUnseenMs = 120_000;
const longestBackoffMs = 60_000;
/** A controller whose jobs begin later than now has a different clock. */
const maxClockAheadMs = 5_000;

export class SlurmDirectory implements JobDirectory {
  readonly #options: SlurmDirectoryOptions;
  readonly #stopped = new AbortController();
  #cluster: string | undefined;
  #tracker: SlurmTracker | undefined;
  #listedMs: number | undefined;
  #problem: string | undefined = "Slurm has not been queried yet";
  #accountingProblem: string | undefined;
  #running: Promise<void> | undefined;

  constructor(options: SlurmDirectoryOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#cluster === undefined ? "slurm" : `slurm:${this.#cluster}`;
  }

  get problem(): string | undefined {
    return this.#problem ?? this.#accountingProblem;
  }

  subscribe(
    listener: (report: SchedulerReport) => void,
    earlier: readonly SchedulerReport[] = [],
  ): () => void {
    this.#running ??= this.#poll(listener, earlier);
    return () => this.#stopped.abort();
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #poll(
    listener: (report: SchedulerReport) => void,
    earlier: readonly SchedulerReport[],
  ): Promise<void> {
    const { intervalMs, random = Math.random } = this.#options;
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      let waitMs = intervalMs;
      try {
        const report = await this.#ask(earlier);
        if (this.#stopped.signal.aborted) return;
        listener(report);
        failures = 0;
      } catch (thrown) {
        this.#setProblem(formatError(thrown));
        const longestMs = Math.max(intervalMs, longestBackoffMs);
        waitMs = backoffMs(failures++, random, { firstMs: intervalMs, longestMs });
      }
      await pause(waitMs, this.#stopped.signal);
    }
  }

  async #ask(earlier: readonly SchedulerReport[]): Promise<SchedulerReport> {
    const { client, nowMs } = this.#options;
    const tracker = (this.#tracker ??= await this.#createTracker(earlier));
    const askedMs = nowMs();
    const listing = parseSlurmQueue(await client.queue());
    const ids = tracker.list(listing.jobs, askedMs);
    const missedSinceMs = this.#listedMs;
    if (missedSinceMs !== undefined && askedMs - missedSinceMs > maxUnseenMs) {
      const missed = await this.#account(() => client.endedSince(missedSinceMs - completeAfterMs));
      tracker.addUnseen(missed ?? []);
    }
    const records = ids.length === 0 ? [] : await this.#account(() => client.recordsOf(ids));
    this.#listedMs = askedMs;
    this.#setProblem(problemOf(listing, askedMs));
    return tracker.report(records, Math.floor((askedMs - completeAfterMs) / 1_000) * 1_000);
  }

  async #createTracker(earlier: readonly SchedulerReport[]): Promise<SlurmTracker> {
    const { client, nowMs } = this.#options;
    this.#cluster = await client.cluster();
    const known = earlier.find(({ cluster }) => cluster === this.#cluster);
    this.#listedMs = known?.asOfMs;
    return new SlurmTracker(this.#cluster, known?.asOfMs ?? nowMs(), known?.jobs);
  }

  /** Undefined if accounting is unavailable: jobs are then reported with the controller's data. */
  async #account(ask: () => Promise<string>): Promise<readonly SchedulerJob[] | undefined> {
    try {
      const { jobs } = parseSlurmAccounting(await ask());
      this.#accountingProblem = undefined;
      return jobs;
    } catch (thrown) {
      const problem = `no processor time and memory of ended jobs: ${formatError(thrown)}`;
      if (this.#accountingProblem === undefined)
        this.#options.log.warn("Slurm's accounting does not answer", { error: problem });
      this.#accountingProblem = problem;
      return undefined;
    }
  }

  #setProblem(problem: string | undefined): void {
    const { log } = this.#options;
    if (problem !== undefined && problem !== this.#problem)
      log.warn("Slurm's jobs are not complete", { scheduler: this.name, error: problem });
    if (problem === undefined && this.#problem !== undefined && this.#listedMs !== undefined)
      log.info("reading jobs from Slurm", { scheduler: this.name });
    this.#problem = problem;
  }
}

/** Problems visible in the response itself, which is still used. */
function problemOf(
  { jobs, unreadable, firstProblem }: SlurmJobs,
  nowMs: number,
): string | undefined {
  if (unreadable > 0)
    return `${unreadable} ${unreadable === 1 ? "job" : "jobs"} could not be read: ${firstProblem}`;
  let aheadMs = 0;
  for (const { startMs = 0, submitMs = 0, endMs = 0 } of jobs)
    aheadMs = Math.max(aheadMs, startMs - nowMs, submitMs - nowMs, endMs - nowMs);
  return aheadMs > maxClockAheadMs
    ? `the controller's clock is ${Math.round(aheadMs / 1_000)} s ahead of the hub's: start and end of jobs are as wrong`
    : undefined;
}
