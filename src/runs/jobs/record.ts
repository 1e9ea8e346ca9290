/** What the ledger records: one job, its stretch on each GPU, what it used in each hour, and the day's book of a GPU. */
import type { SchedulerJob } from "../../model/scheduler-job.ts";

/** What makes processes one job, most specific first. */
export const jobKinds = [
  "slurm",
  "pod",
  "named",
  "wandb",
  "mlflow",
  "container",
  "unit",
  "process",
  "workload",
] as const;
export type JobKind = (typeof jobKinds)[number];

/**
 * How the energy of a GPU was divided between those that held it at the same time:
 *
 * - `exclusive`: one holder, which got all
 * - `process_share`: by each holder's share of the GPU's processor time, as the driver reports it
 * - `equal_split`: in equal parts, because no shares were reported or all of them were 0: an assumption
 */
export const energyRules = ["exclusive", "process_share", "equal_split"] as const;
export type EnergyRule = (typeof energyRules)[number];

/** Time and energy; the unit of every sum. */
export interface JobUse {
  /** Each held GPU counts whole, also where jobs share one. */
  gpuSeconds: number;
  /** Of these, with the GPU's SM activity (else utilisation) above the floor. */
  usefulSeconds: number;
  heldIdleSeconds: number;
  /** Neither: the GPU reported no activity. */
  unknownSeconds: number;
  joules: number;
}

/** A job on one GPU. */
export interface JobStretch extends JobUse {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly model: string;
  readonly simulated: boolean;
  fromMs: number;
  toMs: number;
  /** Joules by the rule that assigned them. */
  joulesByRule: Partial<Record<EnergyRule, number | undefined>>;
  /** Seconds without readings in which the holder was the same before and after. */
  unobservedSeconds: number;
  /** Absent where its share of the memory is not known. */
  peakMemoryBytes?: number | undefined;
  meanMemoryBytes?: number | undefined;
  /** Means over the seconds in which the GPU reported them; of the whole GPU where jobs share it. */
  meanTensorRatio?: number | undefined;
  meanDramRatio?: number | undefined;
  meanActivityRatio?: number | undefined;
  throttledSeconds: Record<string, number>;
  xids: Record<string, number>;
  anomalies: string[];
  /** Ids of jobs on the same GPU at the same time, the first few. */
  neighbours: string[];
}

export type JobEnd = "open" | "ended" | "expired";

export interface JobRecord {
  /** Unique: the key and the start (or the scheduler's submit time), such as `slurm:4711@1763440000`. */
  readonly id: string;
  /** What its processes are known by, such as `slurm:4711`; used again by later jobs. */
  readonly key: string;
  readonly kind: JobKind;
  name: string;
  user?: string | undefined;
  account?: string | undefined;
  namespace?: string | undefined;
  container?: string | undefined;
  /** What controls the pod, such as `Job/train` or `PyTorchJob/llama`; absent where Kubernetes was not asked. */
  controller?: string | undefined;
  /** What the scheduler reported last; absent without one. */
  scheduler?: SchedulerJob | undefined;
  startMs: number;
  /** The end, or the last time it was seen while it runs. */
  endMs: number;
  /** `expired`: its GPUs stopped reporting before its end was seen. */
  end: JobEnd;
  stretches: JobStretch[];
  /** GPU-seconds that only the scheduler knows of: held between two listings, or on machines without an agent. */
  unplacedGpuSeconds?: number | undefined;
}

/** What a job used in one hour of the UTC calendar: [hour since 1970, GPU-seconds, useful, held idle, joules]. */
export type JobHour = readonly [number, number, number, number, number];

/** A job's part of one day: what bills are made of. */
export interface JobDayPart {
  readonly id: string;
  readonly name: string;
  readonly kind: JobKind;
  readonly user?: string | undefined;
  readonly account?: string | undefined;
  readonly namespace?: string | undefined;
  readonly controller?: string | undefined;
  readonly hours: readonly JobHour[];
}

export type GapReason =
  | "no_readings"
  | "counter_reset"
  | "clock_jumped_back"
  | "owner_unknown"
  | "too_many_jobs"
  | "scheduler_pending";

/** Where the energy of one GPU went in one day. */
export interface GpuDayBook {
  /** `2026-11-18`, UTC. */
  readonly day: string;
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly model: string;
  readonly simulated: boolean;
  meter: "hardware" | "integrated";
  /** The meter's readings at the ends of the day (interpolated at midnight), since its last reset. */
  firstJoules: number;
  lastJoules: number;
  /** What it counted before its last reset of the day. */
  resetJoules: number;
  /** By the meter alone: the last reading less the first, over every reset. */
  meterJoules: number;
  jobJoules: number;
  idleJoules: number;
  unattributedJoules: number;
  heldSeconds: number;
  idleSeconds: number;
  unattributedSeconds: number;
  /** Why something is unattributed: seconds and joules by reason. */
  gaps: Partial<Record<GapReason, { seconds: number; joules: number } | undefined>>;
}

/** What is final and belongs into the files of the days. */
export interface LedgerOutput {
  readonly jobs: JobRecord[];
  readonly parts: { readonly day: string; readonly part: JobDayPart }[];
  readonly books: GpuDayBook[];
}

export const dayMs = 86_400_000;
export const hourMs = 3_600_000;

/** The last answer: all GPUs of a fleet are mostly in one day, and a date costs half a microsecond. */
let lastDay = { number: Number.NaN, text: "" };

export function dayOf(timeMs: number): string {
  const number = Math.floor(timeMs / dayMs);
  if (number !== lastDay.number)
    lastDay = { number, text: new Date(number * dayMs).toISOString().slice(0, 10) };
  return lastDay.text;
}
