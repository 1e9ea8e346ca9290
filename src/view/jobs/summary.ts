/** A job in lists: its sums over all GPUs, and the verdict. Shared by API, page and command line. */
import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { schedulerJobStates } from "../../model/scheduler-job.ts";
import { jobKinds, type JobRecord } from "../../runs/jobs/record.ts";
import { judgeJob } from "./verdict.ts";

const count = v.number();

/** `running` and `ended` come from gpulse's own readings; the others come from the scheduler. */
const jobStates = [...new Set([...schedulerJobStates, "expired"] as const)];

export const jobSummarySchema = v.object({
  id: v.string(),
  key: v.string(),
  kind: v.picklist(jobKinds),
  name: v.string(),
  user: v.optional(v.string()),
  account: v.optional(v.string()),
  controller: v.optional(v.string()),
  project: v.optional(v.string()),
  partition: v.optional(v.string()),
  state: v.picklist(jobStates),
  /** Present if a scheduler has reported the job: its state then does not depend on readings. */
  scheduled: v.optional(v.literal(true)),
  startMs: count,
  /** Absent while the job runs. */
  endMs: v.optional(count),
  /** Time of the newest reading that counts towards the job. */
  seenMs: count,
  gpus: count,
  requestedGpus: v.optional(count),
  hosts: v.array(v.string()),
  simulated: v.boolean(),
  gpuSeconds: count,
  usefulSeconds: count,
  heldIdleSeconds: count,
  unknownSeconds: count,
  unobservedSeconds: count,
  joules: count,
  /** Joules of shared GPUs, split equally between their jobs by assumption. */
  assumedJoules: count,
  peakMemoryBytes: v.optional(count),
  throttledSeconds: count,
  xids: count,
  verdict: v.string(),
  /** Usage of the one GPU in the request. */
  held: v.optional(
    v.object({
      fromMs: count,
      toMs: count,
      seconds: count,
      usefulSeconds: count,
      unknownSeconds: count,
      joules: count,
      /** Other jobs on the GPU at the same time, the first few. */
      neighbours: v.array(v.string()),
    }),
  ),
});
export type JobSummary = v.InferOutput<typeof jobSummarySchema>;

/** Sums a job's usage of one GPU; undefined if it did not hold it. */
export function summarizeHeld(
  { stretches }: Pick<JobRecord, "stretches">,
  { uuid, host }: { readonly uuid?: string | undefined; readonly host?: string | undefined },
): JobSummary["held"] {
  const own = stretches.filter(
    (stretch) => stretch.uuid === uuid && (host === undefined || stretch.host === host),
  );
  const [first] = own;
  if (first === undefined) return undefined;
  const sum = (of: (stretch: JobRecord["stretches"][number]) => number): number =>
    own.reduce((total, stretch) => total + of(stretch), 0);
  return {
    fromMs: Math.min(...own.map(({ fromMs }) => fromMs)),
    toMs: Math.max(...own.map(({ toMs }) => toMs)),
    seconds: sum(({ gpuSeconds }) => gpuSeconds),
    usefulSeconds: sum(({ usefulSeconds }) => usefulSeconds),
    unknownSeconds: sum(({ unknownSeconds }) => unknownSeconds),
    joules: sum(({ joules }) => joules),
    neighbours: [...new Set(own.flatMap(({ neighbours }) => neighbours))],
  };
}

export function summarizeJob(job: JobRecord): JobSummary {
  const { id, key, kind, name, user, account, namespace, controller, scheduler, stretches, end } =
    job;
  const { unplacedGpuSeconds: unplaced = 0 } = job;
  const sum = (of: (stretch: JobRecord["stretches"][number]) => number): number =>
    stretches.reduce((total, stretch) => total + of(stretch), 0);
  const add = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((total, value) => total + value, 0);
  const peaks = stretches.flatMap(({ peakMemoryBytes }) => peakMemoryBytes ?? []);
  return {
    id,
    key,
    kind,
    name,
    ...defined({ user, account, project: namespace ?? account, partition: scheduler?.partition }),
    ...defined({ controller }),
    state: stateOf(job),
    ...(scheduler === undefined ? {} : { scheduled: true as const }),
    startMs: job.startMs,
    ...(end === "open" ? {} : { endMs: job.endMs }),
    seenMs: stretches.reduce((newest, { toMs }) => Math.max(newest, toMs), job.startMs),
    gpus: scheduler?.allocatedGpus ?? stretches.length,
    ...defined({ requestedGpus: scheduler?.requestedGpus }),
    hosts: [...new Set(stretches.map(({ host }) => host))],
    simulated: stretches.some(({ simulated }) => simulated),
    gpuSeconds: unplaced + sum((stretch) => stretch.gpuSeconds),
    usefulSeconds: sum((stretch) => stretch.usefulSeconds),
    heldIdleSeconds: sum((stretch) => stretch.heldIdleSeconds),
    unknownSeconds: unplaced + sum((stretch) => stretch.unknownSeconds),
    unobservedSeconds: sum((stretch) => stretch.unobservedSeconds),
    joules: sum((stretch) => stretch.joules),
    assumedJoules: sum((stretch) => stretch.joulesByRule.equal_split ?? 0),
    ...(peaks.length === 0 ? {} : { peakMemoryBytes: Math.max(...peaks) }),
    throttledSeconds: sum((stretch) => add(stretch.throttledSeconds)),
    xids: sum((stretch) => add(stretch.xids)),
    verdict: judgeJob(job).join(" "),
  };
}

function stateOf({ end, scheduler }: JobRecord): JobSummary["state"] {
  if (end === "open") return scheduler?.state === "suspended" ? "suspended" : "running";
  return scheduler?.state ?? (end === "expired" ? "expired" : "ended");
}

/** `GET /api/jobs/bill`. */
export const billSchema = v.object({
  fromMs: v.number(),
  toMs: v.number(),
  currency: v.optional(v.string()),
  lines: v.array(
    v.object({
      name: v.string(),
      jobs: v.number(),
      gpuSeconds: v.number(),
      usefulSeconds: v.number(),
      heldIdleSeconds: v.number(),
      joules: v.number(),
      cost: v.optional(v.number()),
      co2Grams: v.optional(v.number()),
    }),
  ),
});
