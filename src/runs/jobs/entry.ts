/** Validates entries of the journal and of the daily files before they are used: they may be of another version, or edited. */
import * as v from "valibot";
import { schedulerJobStates } from "../../model/scheduler-job.ts";
import type { LedgerEntry } from "./ledger.ts";
import {
  energyRules,
  type GpuDayBook,
  type JobDayPart,
  jobKinds,
  type JobRecord,
} from "./record.ts";
import type { GpuTick } from "./tick.ts";

const { optional } = v;
const count = v.pipe(v.number(), v.finite());
const counts = v.record(v.string(), count);

const ownerSchema = v.object({
  labels: v.object({
    namespace: v.exactOptional(v.string()),
    pod: v.exactOptional(v.string()),
    container: v.exactOptional(v.string()),
    workload: v.exactOptional(v.string()),
    user: v.exactOptional(v.string()),
  }),
  memoryBytes: optional(count),
  peakMemoryBytes: optional(count),
  utilizationRatio: optional(count),
});

const deviceFields = {
  uuid: v.string(),
  host: v.string(),
  gpu: count,
  model: v.string(),
  simulated: v.boolean(),
};

const tickFields = {
  ...deviceFields,
  timeMs: count,
  coveredFromMs: optional(count),
  activityRatio: optional(count),
  tensorRatio: optional(count),
  dramRatio: optional(count),
  idleMs: optional(count),
  idleSinceMs: optional(count),
  memoryBytes: optional(count),
  peakMemoryBytes: optional(count),
  throttleSeconds: optional(counts),
  xids: optional(counts),
  anomalies: optional(v.array(v.string())),
  owners: optional(v.array(ownerSchema)),
};

const meter = v.picklist(["hardware", "integrated"]);
const tickSchema = v.object({ ...tickFields, joules: count, meter });

const intervalSchema = v.object({
  fromMs: count,
  toMs: count,
  joules: count,
  isGap: v.boolean(),
  flaw: optional(v.picklist(["counter_reset", "clock_jumped_back"])),
  before: optional(v.array(ownerSchema)),
  after: v.object(tickFields),
});

const schedulerJobSchema = v.object({
  scheduler: v.literal("slurm"),
  cluster: optional(v.string()),
  id: v.string(),
  restartCount: optional(count),
  hetJobId: optional(v.string()),
  arrayJobId: optional(v.string()),
  arrayTaskId: optional(count),
  arrayTasksWaiting: optional(v.string()),
  name: optional(v.string()),
  user: optional(v.string()),
  account: optional(v.string()),
  partition: optional(v.string()),
  state: v.picklist(schedulerJobStates),
  stateText: v.string(),
  stateReason: optional(v.string()),
  exitCode: optional(count),
  exitSignal: optional(count),
  submitMs: optional(count),
  startMs: optional(count),
  endMs: optional(count),
  suspendedSeconds: optional(count),
  timeLimitSeconds: optional(count),
  requestedGpus: optional(count),
  allocatedGpus: optional(count),
  allocatedCpus: optional(count),
  allocatedMemoryBytes: optional(count),
  allocations: optional(
    v.array(
      v.object({
        host: v.string(),
        gpuIndexes: optional(v.array(count)),
        gpuCount: optional(count),
        cpuCount: optional(count),
      }),
    ),
  ),
  cpuSeconds: optional(count),
  peakMemoryBytes: optional(count),
});

const reportSchema = v.object({
  scheduler: v.literal("slurm"),
  cluster: optional(v.string()),
  asOfMs: count,
  jobs: v.array(schedulerJobSchema),
});

const useFields = {
  gpuSeconds: count,
  usefulSeconds: count,
  heldIdleSeconds: count,
  unknownSeconds: count,
  joules: count,
};

const stretchSchema = v.object({
  ...deviceFields,
  ...useFields,
  fromMs: count,
  toMs: count,
  joulesByRule: v.partial(v.object(v.entriesFromList(energyRules, count))),
  unobservedSeconds: count,
  peakMemoryBytes: optional(count),
  meanMemoryBytes: optional(count),
  meanTensorRatio: optional(count),
  meanDramRatio: optional(count),
  meanActivityRatio: optional(count),
  throttledSeconds: counts,
  xids: counts,
  anomalies: v.array(v.string()),
  neighbours: v.array(v.string()),
});

export const jobSchema = v.object({
  id: v.string(),
  key: v.string(),
  kind: v.picklist(jobKinds),
  name: v.string(),
  user: optional(v.string()),
  account: optional(v.string()),
  namespace: optional(v.string()),
  container: optional(v.string()),
  controller: optional(v.string()),
  labels: optional(v.record(v.string(), v.string())),
  scheduler: optional(schedulerJobSchema),
  startMs: count,
  endMs: count,
  end: v.picklist(["open", "ended", "expired"]),
  stretches: v.array(stretchSchema),
  unplacedGpuSeconds: optional(count),
}) satisfies v.GenericSchema<unknown, JobRecord>;

const hourSchema = v.tuple([count, count, count, count, count]);

/** Validated by hand for speed: a month's bill has a hundred thousand parts. */
export function isPart(value: unknown): value is JobDayPart {
  if (typeof value !== "object" || value === null) return false;
  const part = value as Partial<Record<keyof JobDayPart, unknown>>;
  const isText = (text: unknown): boolean => text === undefined || typeof text === "string";
  return (
    typeof part.id === "string" &&
    typeof part.name === "string" &&
    jobKinds.some((kind) => kind === part.kind) &&
    isText(part.user) &&
    isText(part.account) &&
    isText(part.namespace) &&
    isText(part.controller) &&
    Array.isArray(part.hours) &&
    part.hours.every(isHour)
  );
}

const isHour = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 5 && value.every(Number.isFinite);

const gapSchema = v.object({ seconds: count, joules: count });

export const bookSchema = v.object({
  ...deviceFields,
  day: v.pipe(v.string(), v.isoDate()),
  meter,
  firstJoules: count,
  lastJoules: count,
  resetJoules: count,
  meterJoules: count,
  jobJoules: count,
  idleJoules: count,
  unattributedJoules: count,
  heldSeconds: count,
  idleSeconds: count,
  unattributedSeconds: count,
  gaps: v.partial(
    v.object({
      no_readings: gapSchema,
      counter_reset: gapSchema,
      clock_jumped_back: gapSchema,
      owner_unknown: gapSchema,
      too_many_jobs: gapSchema,
      scheduler_pending: gapSchema,
    }),
  ),
}) satisfies v.GenericSchema<unknown, GpuDayBook>;

const pair = v.tuple([count, count]);
const sumsSchema = v.object({ memory: pair, tensor: pair, dram: pair, activity: pair });

const entrySchema = v.union([
  v.tuple([v.literal("report"), reportSchema]),
  v.tuple([v.literal("clock"), count]),
  v.tuple([
    v.literal("pods"),
    v.array(
      v.object({
        namespace: v.string(),
        pod: v.string(),
        controller: optional(v.string()),
        labels: optional(v.record(v.string(), v.string())),
      }),
    ),
  ]),
  v.tuple([
    v.literal("gpu"),
    v.object({ last: tickSchema, pending: v.array(intervalSchema), settledMs: count }),
  ]),
  v.tuple([
    v.literal("job"),
    v.object({
      job: jobSchema,
      sums: v.array(sumsSchema),
      over: v.array(v.boolean()),
      idle: optional(v.array(count)),
      hours: v.array(hourSchema),
    }),
  ]),
  v.tuple([v.literal("book"), bookSchema]),
]);

/** Undefined for entries that this version does not understand. */
export function parseEntry(value: unknown): LedgerEntry | undefined {
  if (!Array.isArray(value)) return undefined;
  const [kind, ticks] = value as readonly unknown[];
  // Validated by hand for speed: a journal has a hundred thousand entries, and the start waits for all of them.
  if (kind === "ticks")
    return Array.isArray(ticks) && ticks.every(isTick) ? ["ticks", ticks] : undefined;
  const parsed = v.safeParse(entrySchema, value);
  return parsed.success ? parsed.output : undefined;
}

function isTick(value: unknown): value is GpuTick {
  if (typeof value !== "object" || value === null) return false;
  const tick = value as Partial<Record<keyof GpuTick, unknown>>;
  return (
    typeof tick.uuid === "string" &&
    typeof tick.host === "string" &&
    typeof tick.gpu === "number" &&
    typeof tick.model === "string" &&
    typeof tick.timeMs === "number" &&
    typeof tick.joules === "number" &&
    (tick.meter === "hardware" || tick.meter === "integrated") &&
    (tick.owners === undefined || (Array.isArray(tick.owners) && tick.owners.every(hasLabels)))
  );
}

const hasLabels = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "labels" in value &&
  typeof value.labels === "object" &&
  value.labels !== null;
