/** The ledger's records: a job, its stretch on each GPU, its usage per hour, and the daily book of a GPU. */
import type { SchedulerJob } from "../../model/scheduler-job.ts";

/** How processes are grouped to a job, most specific first. */
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
 * How the energy of a GPU is divided between concurrent holders:
 *
 * - `exclusive`: one holder, which gets all
 * - `process_share`: by each holder's share of the GPU's processor time, as reported by the driver
 * - `equal_split`: in equal parts, because no shares were reported or all of them were 0: an assumption
 */
export const energyRules = ["exclusive", "process_share", "equal_split"] as const;
export type EnergyRule = (typeof energyRules)[number];

/** Time and energy; the unit of every sum. */
export interface JobUse {
  /** Each held GPU counts whole, even if jobs share it. */
  gpuSeconds: number;
  /** The part with the GPU's SM activity (else utilisation) above the floor. */
  usefulSeconds: number;
  heldIdleSeconds: number;
  /** The part without reported activity: neither useful nor idle. */
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
  /** Absent if its share of the memory is unknown. */
  peakMemoryBytes?: number | undefined;
  meanMemoryBytes?: number | undefined;
  /** Means over the seconds in which the GPU reported them; of the whole GPU if jobs share it. */
  meanTensorRatio?: number | undefined;
  meanDramRatio?: number | undefined;
  meanActivityRatio?: number | undefined;
  throttledSeconds: Record<string, number>;
  xids: Record<string, number>;
  anomalies: string[];
  /** Ids of the first few jobs on the same GPU at the same time. */
  neighbours: string[];
}

export type JobEnd = "open" | "ended" | "expired";

export interface JobRecord {
  /** Unique: the key and the start in seconds (or the scheduler's submit time), such as `slurm:4711@1763440000.25`. */
  readonly id: string;
  /** The identity of its processes, such as `slurm:4711`; may be reused by later jobs. */
  readonly key: string;
  readonly kind: JobKind;
  name: string;
  user?: string | undefined;
  account?: string | undefined;
  namespace?: string | undefined;
  container?: string | undefined;
  /** The pod's controller, such as `Job/train` or `PyTorchJob/llama`; absent if Kubernetes was not queried. */
  controller?: string | undefined;
  /** The pod labels that the hub is configured to read (`--pod-labels`), such as `label_team`. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** The scheduler's latest data; absent without one. */
  scheduler?: SchedulerJob | undefined;
  startMs: number;
  /** The end; for a running job, the last time it was observed. */
  endMs: number;
  /** `expired`: its GPUs stopped reporting before its end was observed. */
  end: JobEnd;
  stretches: JobStretch[];
  /** GPU-seconds known only from the scheduler: held between two listings, or on machines without an agent. */
  unplacedGpuSeconds?: number | undefined;
}

/** A job's usage in one hour of the UTC calendar: [hour since 1970, GPU-seconds, useful, held idle, joules]. */
export type JobHour = readonly [number, number, number, number, number];

/** A job's part of one day, from which bills are calculated. */
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
  /** The meter's count before its last reset of the day. */
  resetJoules: number;
  /** From the meter alone: the last reading less the first, across every reset. */
  meterJoules: number;
  jobJoules: number;
  idleJoules: number;
  unattributedJoules: number;
  heldSeconds: number;
  idleSeconds: number;
  unattributedSeconds: number;
  /** Why energy is unattributed: seconds and joules by reason. */
  gaps: Partial<Record<GapReason, { seconds: number; joules: number } | undefined>>;
}

/** Final records for the daily files. */
export interface LedgerOutput {
  readonly jobs: JobRecord[];
  readonly parts: { readonly day: string; readonly part: JobDayPart }[];
  readonly books: GpuDayBook[];
}

export const dayMs = 86_400_000;
export const hourMs = 3_600_000;

/** A cache of the last result: the GPUs of a fleet are mostly in the same day, and formatting a date takes half a microsecond. */
let lastDay = { number: Number.NaN, text: "" };

export function dayOf(timeMs: number): string {
  const number = Math.floor(timeMs / dayMs);
  if (number !== lastDay.number)
    lastDay = { number, text: new Date(number * dayMs).toISOString().slice(0, 10) };
  return lastDay.text;
}
