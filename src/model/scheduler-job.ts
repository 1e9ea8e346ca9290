/**
 * What a batch scheduler reports about one job. A plain record for the ledger: a field that the scheduler did not report is
 * absent, never 0 and never an empty text.
 */

/**
 * - `waiting`: submitted, holds nothing yet (Slurm's PENDING, also after a requeue)
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

/** What a job holds on one host. */
export interface SchedulerAllocation {
  /** The scheduler's name of the node, which is the machine's short host name unless the site chose another. */
  readonly host: string;
  /** Positions on the host as the scheduler numbers them; absent where it reports only a count. */
  readonly gpuIndexes?: readonly number[] | undefined;
  readonly gpuCount?: number | undefined;
  readonly cpuCount?: number | undefined;
}

/**
 * One attempt of one job. Ids are used again after a controller's reset, and a requeued job keeps its id: only scheduler,
 * cluster, id and `submitMs` together name an attempt (Slurm gives a requeued job a new submit time).
 */
export interface SchedulerJob {
  readonly scheduler: "slurm";
  readonly cluster?: string | undefined;
  /** The number that the job's processes carry in SLURM_JOB_ID; each task of an array has its own. */
  readonly id: string;
  /** How often the job was requeued before this attempt. */
  readonly restartCount?: number | undefined;
  /** The id that the user got for the whole array. */
  readonly arrayJobId?: string | undefined;
  readonly arrayTaskId?: number | undefined;
  /** Tasks of an array that have no record of their own yet, such as `5-99999%10`. */
  readonly arrayTasksWaiting?: string | undefined;
  readonly name?: string | undefined;
  readonly user?: string | undefined;
  readonly account?: string | undefined;
  readonly partition?: string | undefined;
  readonly state: SchedulerJobState;
  /** The state in the scheduler's own words, such as `CANCELLED by 1000`. */
  readonly stateText: string;
  /** Why it waits or why it ended, in the scheduler's own word, such as `Resources` or `TimeLimit`. */
  readonly stateReason?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly exitSignal?: number | undefined;
  readonly submitMs?: number | undefined;
  readonly startMs?: number | undefined;
  /** Absent while it runs: a time limit's end is no end. */
  readonly endMs?: number | undefined;
  readonly suspendedSeconds?: number | undefined;
  readonly timeLimitSeconds?: number | undefined;
  readonly requestedGpus?: number | undefined;
  readonly allocatedGpus?: number | undefined;
  readonly allocatedCpus?: number | undefined;
  readonly allocatedMemoryBytes?: number | undefined;
  /** Where it runs or ran; empty while it waits, absent where the scheduler did not report it. */
  readonly allocations?: readonly SchedulerAllocation[] | undefined;
  /** User and system time of all its steps; Slurm knows it only after a step has ended or with accounting. */
  readonly cpuSeconds?: number | undefined;
  /** Largest resident set of one task, as Slurm's accounting measures it. */
  readonly peakMemoryBytes?: number | undefined;
}

/** True once the scheduler will not change the record any more. */
export const isFinalState = (state: SchedulerJobState): boolean =>
  state !== "waiting" && state !== "running" && state !== "suspended";
