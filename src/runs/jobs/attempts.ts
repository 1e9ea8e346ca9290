/** The jobs that schedulers have reported, by host: which job held which GPU from when to when. */
import { isFinalState, type SchedulerJob } from "../../model/scheduler-job.ts";
import type { SchedulerReport } from "./directory.ts";
import type { Allocation } from "./interval.ts";
import type { JobRecord } from "./record.ts";

/** Limit of remembered jobs, above the number that any real cluster runs at once. */
const mostAttempts = 200_000;

export interface Attempt {
  readonly id: string;
  readonly job: SchedulerJob;
}

const attemptKey = ({ scheduler, cluster, id }: SchedulerJob): string =>
  `${scheduler}:${cluster === undefined ? "" : `${cluster}/`}${id}`;

/** A requeued job keeps its id, and ids are reused after a reset: the submit time distinguishes them. */
export const attemptId = (job: SchedulerJob): string =>
  `${attemptKey(job)}@${Math.floor((job.submitMs ?? job.startMs ?? 0) / 1_000)}`;

/** `node7.lab.example` and `node7` are the same machine: schedulers and agents differ in this. */
export const shortHost = (host: string): string => host.split(".", 1)[0] ?? host;

export class JobAttempts {
  readonly #byId = new Map<string, Attempt>();
  readonly #byHost = new Map<string, Set<string>>();
  /** The report time of each scheduler. */
  readonly #asOfMs = new Map<string, number>();
  #ignored = 0;

  /** The number of jobs rejected because of the limit. */
  get ignored(): number {
    return this.#ignored;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** The time up to which every scheduler has reported; undefined without a scheduler. */
  get asOfMs(): number | undefined {
    return this.#asOfMs.size === 0 ? undefined : Math.min(...this.#asOfMs.values());
  }

  get(id: string): Attempt | undefined {
    return this.#byId.get(id);
  }

  all(): IterableIterator<Attempt> {
    return this.#byId.values();
  }

  *reports(): IterableIterator<SchedulerReport> {
    for (const [name, asOfMs] of this.#asOfMs) {
      const cluster = name.slice(name.indexOf(":") + 1);
      const jobs = [...this.#byId.values()]
        .map(({ job }) => job)
        .filter((job) => (job.cluster ?? "") === cluster);
      yield { scheduler: "slurm", ...(cluster === "" ? {} : { cluster }), asOfMs, jobs };
    }
  }

  /** Adds a report and returns the ids of new or changed jobs that hold or held GPUs. */
  take({ scheduler, cluster = "", asOfMs, jobs }: SchedulerReport): string[] {
    const name = `${scheduler}:${cluster}`;
    this.#asOfMs.set(name, Math.max(asOfMs, this.#asOfMs.get(name) ?? Number.NEGATIVE_INFINITY));
    const changed: string[] = [];
    for (const job of jobs) {
      if (!holdsGpus(job)) continue;
      const id = attemptId(job);
      if (!this.#byId.has(id) && this.#byId.size >= mostAttempts) {
        this.#ignored++;
        continue;
      }
      this.#byId.set(id, { id, job });
      changed.push(id);
      for (const { host } of job.allocations ?? []) {
        const key = shortHost(host);
        const ids = this.#byHost.get(key) ?? new Set();
        this.#byHost.set(key, ids.add(id));
      }
    }
    return changed;
  }

  forget(id: string): void {
    const attempt = this.#byId.get(id);
    this.#byId.delete(id);
    for (const { host } of attempt?.job.allocations ?? []) {
      const ids = this.#byHost.get(shortHost(host));
      ids?.delete(id);
      if (ids?.size === 0) this.#byHost.delete(shortHost(host));
    }
  }

  hasEnded(host: string): boolean {
    if (this.#byId.size === 0) return false;
    for (const id of this.onHost(host)) {
      const job = this.#byId.get(id)?.job;
      if (job !== undefined && endedMs(job) !== undefined) return true;
    }
    return false;
  }

  onHost(host: string): IterableIterator<string> {
    return (this.#byHost.get(shortHost(host)) ?? new Set<string>()).values();
  }

  allocationsOf(host: string, gpu: number): Allocation[] {
    const found: Allocation[] = [];
    for (const id of this.onHost(host)) {
      const job = this.#byId.get(id)?.job;
      const held = job?.allocations?.find((one) => shortHost(one.host) === shortHost(host));
      if (job?.startMs === undefined || held === undefined) continue;
      if (held.gpuIndexes !== undefined && !held.gpuIndexes.includes(gpu)) continue;
      found.push({
        id,
        workloads: job.hetJobId === undefined ? [job.id] : [job.id, job.hetJobId],
        fromMs: job.startMs,
        toMs: job.endMs ?? Number.POSITIVE_INFINITY,
        isCertain: held.gpuIndexes !== undefined,
      });
    }
    return found;
  }
}

function holdsGpus({
  state,
  allocatedGpus,
  requestedGpus,
  allocations,
  startMs,
}: SchedulerJob): boolean {
  if (state === "waiting" || startMs === undefined) return false;
  if (allocations?.some(({ gpuIndexes, gpuCount }) => (gpuIndexes?.length ?? gpuCount ?? 0) > 0))
    return true;
  return (allocatedGpus ?? requestedGpus ?? 0) > 0;
}

/** The end of a job according to the scheduler; undefined while it runs. */
export const endedMs = ({ state, endMs }: SchedulerJob): number | undefined =>
  isFinalState(state) ? endMs : undefined;

/** The record of a job with the scheduler's data. */
export function recordOf(attempt: Attempt, fromMs: number): JobRecord {
  const { job, id } = attempt;
  const record: JobRecord = {
    id,
    key: attemptKey(job),
    kind: "slurm",
    name: job.id,
    startMs: job.startMs ?? fromMs,
    endMs: job.startMs ?? fromMs,
    end: "open",
    stretches: [],
  };
  describe(record, attempt);
  return record;
}

/** Updates a record with the scheduler's latest data. */
export function describe(record: JobRecord, { job }: Attempt): void {
  record.scheduler = job;
  record.name = job.name ?? job.id;
  if (job.user !== undefined) record.user = job.user;
  if (job.account !== undefined) record.account = job.account;
}
