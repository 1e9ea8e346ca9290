/**
 * Turns the controller's listings and accounting records into reports for the ledger. Pure. An attempt's end is reported once,
 * with its accounting data: the controller lists an ended job for minutes, drops its GPU indexes as it ends, and replaces a
 * requeued job by its next attempt.
 */
import { defined } from "../../../base/defined.ts";
import {
  isFinalState,
  type SchedulerAllocation,
  type SchedulerJob,
} from "../../../model/scheduler-job.ts";
import { attemptId } from "../attempts.ts";
import type { SchedulerReport } from "../directory.ts";

interface TrackedAttempt {
  job: SchedulerJob;
  /** The job as last reported; undefined if it was not. */
  reported?: string;
  lastSeenMs: number;
  /** True if it has ended, or the controller no longer lists it. */
  isOver: boolean;
  /** Listings since then without an accounting record. */
  waits: number;
}

/** slurmctld sends to slurmdbd within a second or two; a report waits for at most this many polls. */
const maxWaits = 5;
/** Ids per accounting query. */
const maxIdsPerQuery = 200;
/** Remembered ends that the controller may still list. */
const maxReportedEnds = 500_000;

export class SlurmTracker {
  readonly #cluster: string | undefined;
  readonly #attempts = new Map<string, TrackedAttempt>();
  readonly #reportedEnds = new Set<string>();
  /** Jobs that ended before are in a report of an earlier hub. */
  readonly #sinceMs: number;

  /** @param earlier the jobs of this cluster that the ledger already has */
  constructor(cluster: string | undefined, sinceMs: number, earlier: readonly SchedulerJob[] = []) {
    this.#cluster = cluster;
    this.#sinceMs = sinceMs;
    for (const job of earlier)
      this.#attempts.set(attemptId(job), {
        job,
        reported: JSON.stringify(job),
        lastSeenMs: sinceMs,
        isOver: isFinalState(job.state),
        waits: 0,
      });
  }

  /** Adds a listing of the controller; returns the ids to query in accounting. */
  list(listing: readonly SchedulerJob[], nowMs: number): readonly string[] {
    const listed = new Set<string>();
    const submitted = new Map<string, number>();
    for (const entry of listing) {
      const job = this.#own(entry);
      if (job === undefined) continue;
      const id = attemptId(job);
      listed.add(id);
      if (job.submitMs !== undefined)
        submitted.set(job.id, Math.max(job.submitMs, submitted.get(job.id) ?? 0));
      if (job.state !== "waiting") this.#see(id, job, nowMs);
    }
    for (const [id, attempt] of this.#attempts) {
      if (listed.has(id) || attempt.isOver) continue;
      attempt.isOver = true;
      attempt.job = withoutListing(attempt, submitted.get(attempt.job.id));
    }
    for (const id of this.#reportedEnds) if (!listed.has(id)) this.#reportedEnds.delete(id);
    const over = [...this.#attempts.values()].filter(({ isOver }) => isOver);
    return [...new Set(over.map(({ job }) => job.id))].slice(0, maxIdsPerQuery);
  }

  /**
   * Adds accounting records and returns the report.
   *
   * @param records the records of the ids that `list` returned; undefined if there is no accounting to wait for
   * @param asOfMs the time up to which the listing is complete
   */
  report(records: readonly SchedulerJob[] | undefined, asOfMs: number): SchedulerReport {
    for (const record of records ?? []) this.#record(record);
    const jobs: SchedulerJob[] = [];
    let completeMs = asOfMs;
    for (const [id, attempt] of this.#attempts) {
      const { job } = attempt;
      if (attempt.isOver && !this.#isDue(attempt, records)) {
        completeMs = Math.min(completeMs, job.endMs ?? attempt.lastSeenMs);
        continue;
      }
      const text = JSON.stringify(job);
      if (text !== attempt.reported) jobs.push(job);
      attempt.reported = text;
      if (!attempt.isOver) continue;
      this.#attempts.delete(id);
      if (this.#reportedEnds.size < maxReportedEnds) this.#reportedEnds.add(id);
    }
    return { scheduler: "slurm", ...defined({ cluster: this.#cluster }), asOfMs: completeMs, jobs };
  }

  /** Adds jobs that started and ended unobserved, from accounting after an outage. */
  addUnseen(records: readonly SchedulerJob[]): void {
    for (const entry of records) {
      const job = this.#own(entry);
      if (job === undefined || !isFinalState(job.state)) continue;
      this.#see(attemptId(job), job, job.endMs ?? this.#sinceMs);
      this.#record(job);
    }
  }

  #own(job: SchedulerJob): SchedulerJob | undefined {
    if (job.cluster !== undefined && this.#cluster !== undefined && job.cluster !== this.#cluster)
      return undefined;
    return { ...job, ...defined({ cluster: this.#cluster ?? job.cluster }) };
  }

  #see(id: string, job: SchedulerJob, nowMs: number): void {
    if (job.startMs === undefined || this.#reportedEnds.has(id)) return;
    const known = this.#attempts.get(id);
    if (known === undefined && isFinalState(job.state) && (job.endMs ?? 0) <= this.#sinceMs) return;
    const isOver = isFinalState(job.state);
    if (known === undefined) {
      this.#attempts.set(id, { job, lastSeenMs: nowMs, isOver, waits: 0 });
      return;
    }
    known.job = mergeJobs(known.job, job);
    known.lastSeenMs = nowMs;
    known.isOver = isOver;
  }

  #record(entry: SchedulerJob): void {
    const record = this.#own(entry);
    if (record === undefined) return;
    const attempt = this.#attempts.get(attemptId(record));
    if (attempt?.isOver !== true || !isFinalState(record.state)) return;
    attempt.job = mergeJobs(attempt.job, record);
    attempt.waits = maxWaits;
  }

  #isDue(attempt: TrackedAttempt, records: readonly SchedulerJob[] | undefined): boolean {
    if (records === undefined || attempt.waits >= maxWaits) return true;
    attempt.waits++;
    return false;
  }
}

/**
 * Later facts take precedence; facts that only the earlier one has are kept. While a job completes, the controller lists only the
 * nodes that are not clean yet, and then none: its allocations are those listed while it ran.
 */
function mergeJobs(before: SchedulerJob, after: SchedulerJob): SchedulerJob {
  const held = new Map((before.allocations ?? []).map((one) => [one.host, one]));
  const listed = new Map(
    (after.allocations ?? []).map((one): [string, SchedulerAllocation] => [
      one.host,
      { ...held.get(one.host), ...one },
    ]),
  );
  const isWhole = !isFinalState(after.state) && listed.size > 0;
  const allocations = [...(isWhole ? listed : new Map([...held, ...listed])).values()];
  const merged: SchedulerJob = { ...before, ...after, allocations };
  if (!isFinalState(merged.state)) {
    const { endMs: _, ...open } = merged;
    return open;
  }
  return merged;
}

/**
 * The end of a job that the controller no longer lists. A later submit time of the same id is the time of its requeue; otherwise
 * the end is unknown, and the last time it was listed is the lower bound.
 */
function withoutListing({ job, lastSeenMs }: TrackedAttempt, nextSubmitMs?: number): SchedulerJob {
  if (nextSubmitMs !== undefined && nextSubmitMs > (job.submitMs ?? 0))
    return { ...job, state: "requeued", stateText: "REQUEUED", endMs: nextSubmitMs };
  return {
    ...job,
    state: "ended",
    stateText: "UNKNOWN",
    stateReason: "the controller no longer lists it; it was running when last seen",
    endMs: Math.max(lastSeenMs, job.startMs ?? lastSeenMs),
  };
}
