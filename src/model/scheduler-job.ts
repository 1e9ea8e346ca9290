/**
 * One job as a batch scheduler reports it. A plain record for the job ledger: a field that the scheduler does not report is absent,
 * never 0 or an empty text.
 */

/**
 * - `waiting`: submitted, holds no resources yet (Slurm's PENDING, also after a requeue)
 * - `running`: holds its allocation (also while it starts, completes, or is being requeued)
 * - `suspended`: holds its allocation, its processes are stopped
 * - the others are final; `ended` is final with a state that this version does not know
 */
export const schedulerJobStates = [
  "waiting",
  "running",
  "suspended",
  "completed",
  "failed",
  "cancelled",
  "timeout",
  "out_of_memory",
  "node_failed",
  "preempted",
  "requeued",
  "ended",
] as const;
export type SchedulerJobState = (typeof schedulerJobStates)[number];

/** A job's allocation on one host. */
export interface SchedulerAllocation {
  /** The scheduler's name of the node: the machine's short host name unless the site chose another. */
  readonly host: string;
  /** GPU indexes on the host in the scheduler's numbering. Absent if it reports only a count. */
  readonly gpuIndexes?: readonly number[] | undefined;
  readonly gpuCount?: number | undefined;
  readonly cpuCount?: number | undefined;
}

/**
 * One attempt of one job. A controller reset reuses ids, and a requeued job keeps its id: only scheduler, cluster, id and
 * `submitMs` together identify an attempt (Slurm gives a requeued job a new submit time).
 */
export interface SchedulerJob {
  readonly scheduler: "slurm";
  readonly cluster?: string | undefined;
  /** The value of SLURM_JOB_ID in the job's processes. Each task of an array has its own. */
  readonly id: string;
  /** For a component of a heterogeneous job: the id of the first one, which is SLURM_JOB_ID in the processes of all. */
  readonly hetJobId?: string | undefined;
  /** Number of requeues before this attempt. */
  readonly restartCount?: number | undefined;
  /** The id that the user got for the whole array. */
  readonly arrayJobId?: string | undefined;
  readonly arrayTaskId?: number | undefined;
  /** Tasks of an array without a record of their own yet, such as `5-99999%10`. */
  readonly arrayTasksWaiting?: string | undefined;
  readonly name?: string | undefined;
  readonly user?: string | undefined;
  readonly account?: string | undefined;
  readonly partition?: string | undefined;
  readonly state: SchedulerJobState;
  /** The state as the scheduler writes it, such as `CANCELLED by 1000`. */
  readonly stateText: string;
  /** Why the job waits or why it ended, as the scheduler writes it, such as `Resources` or `TimeLimit`. */
  readonly stateReason?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly exitSignal?: number | undefined;
  readonly submitMs?: number | undefined;
  readonly startMs?: number | undefined;
  /** Absent while the job runs: the end of its time limit does not count. */
  readonly endMs?: number | undefined;
  readonly suspendedSeconds?: number | undefined;
  readonly timeLimitSeconds?: number | undefined;
  readonly requestedGpus?: number | undefined;
  readonly allocatedGpus?: number | undefined;
  readonly allocatedCpus?: number | undefined;
  readonly allocatedMemoryBytes?: number | undefined;
  /** Hosts that the job runs or ran on. Empty while it waits, absent if the scheduler does not report them. */
  readonly allocations?: readonly SchedulerAllocation[] | undefined;
  /** User and system time of all steps. Slurm reports it only after a step has ended, or with accounting. */
  readonly cpuSeconds?: number | undefined;
  /** Largest resident set of one task, as Slurm's accounting measures it. */
  readonly peakMemoryBytes?: number | undefined;
}

/** True once the scheduler will not change the record any more. */
export const isFinalState = (state: SchedulerJobState): boolean =>
  state !== "waiting" && state !== "running" && state !== "suspended";
