/** A job as text in the style of Slurm's `seff`, for a terminal or an epilog's mail. */
import type { JobRecord, JobStretch } from "../../runs/jobs/record.ts";
import { joulesPerKwh } from "../../runs/jobs/tariff.ts";
import { costText, massText } from "./price.ts";
import { formatState } from "./state.ts";
import { summarizeJob } from "./summary.ts";
import { judgeJob, percent } from "./verdict.ts";

export interface JobPrice {
  readonly cost?: number | undefined;
  readonly currency?: string | undefined;
  readonly co2Grams?: number | undefined;
}

/** @param nowMs tells a job that is not seen any more from a running one */
export function jobFacts(
  job: JobRecord,
  price: JobPrice = {},
  nowMs = Number.NEGATIVE_INFINITY,
): [string, string][] {
  const summary = summarizeJob(job);
  const { scheduler } = job;
  const ratio = (part: number, whole: number): string =>
    whole > 0 ? `${(100 * (part / whole)).toFixed(2)} %` : "not known";
  const known = summary.gpuSeconds - summary.unknownSeconds;
  const wallSeconds = (job.endMs - job.startMs) / 1_000;
  const facts: [string, string | undefined][] = [
    ["Job ID", scheduler?.id ?? job.id],
    ["Array", scheduler?.arrayJobId && `${scheduler.arrayJobId}_${scheduler.arrayTaskId ?? "?"}`],
    ["Cluster", scheduler?.cluster],
    ["Name", job.name],
    ["User/Account", `${job.user ?? "not known"}/${job.account ?? "-"}`],
    ["Controller", job.controller],
    ["Labels", job.labels && labelText(job.labels)],
    [
      "State",
      `${scheduler?.stateText ?? formatState(summary, nowMs, " ")}${summary.simulated ? " (simulated GPUs)" : ""}`,
    ],
    ["Hosts", summary.hosts.join(", ") || "not observed"],
    ["Started", new Date(job.startMs).toISOString()],
    ["Job wall-clock time", clock(wallSeconds)],
    [
      "GPUs",
      `${summary.gpus}${scheduler?.requestedGpus === undefined ? "" : ` of ${scheduler.requestedGpus} requested`}`,
    ],
    [
      "GPU time",
      `${clock(summary.gpuSeconds)} (${(summary.gpuSeconds / 3_600).toFixed(2)} GPU-hours)`,
    ],
    [
      "GPU Efficiency",
      `${ratio(summary.usefulSeconds, known)} of ${clock(known)} observed GPU time`,
    ],
    ["GPU held idle", clock(summary.heldIdleSeconds)],
    [
      "GPU memory peak",
      summary.peakMemoryBytes === undefined ? undefined : gigabytes(summary.peakMemoryBytes),
    ],
    ["CPU Efficiency", cpuEfficiency(job, wallSeconds)],
    [
      "Memory Utilized",
      scheduler?.peakMemoryBytes === undefined ? undefined : gigabytes(scheduler.peakMemoryBytes),
    ],
    [
      "Memory Efficiency",
      scheduler?.peakMemoryBytes === undefined || scheduler.allocatedMemoryBytes === undefined
        ? undefined
        : `${ratio(scheduler.peakMemoryBytes, scheduler.allocatedMemoryBytes)} of ${gigabytes(scheduler.allocatedMemoryBytes)}`,
    ],
    ["Energy", energy(summary.joules, summary.assumedJoules)],
    ["Cost", price.cost === undefined ? undefined : costText(price.cost, price.currency)],
    ["CO2", price.co2Grams === undefined ? undefined : massText(price.co2Grams)],
  ];
  return facts.flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, value] satisfies [string, string]],
  );
}

function cpuEfficiency({ scheduler }: JobRecord, wallSeconds: number): string | undefined {
  const { cpuSeconds, allocatedCpus } = scheduler ?? {};
  if (cpuSeconds === undefined || allocatedCpus === undefined || wallSeconds <= 0) return undefined;
  const core = allocatedCpus * wallSeconds;
  return `${((100 * cpuSeconds) / core).toFixed(2)} % of ${clock(core)} core-walltime`;
}

function energy(joules: number, assumedJoules: number): string {
  const note =
    joules > 0 && assumedJoules / joules >= 0.01
      ? `; ${percent(assumedJoules / joules)} of it divided equally between jobs on shared GPUs`
      : "";
  return `${kilowattHours(joules)}${note}`;
}

export const kilowattHours = (joules: number): string =>
  joules < joulesPerKwh / 10
    ? `${((joules / joulesPerKwh) * 1_000).toFixed(1)} Wh`
    : `${(joules / joulesPerKwh).toFixed(2)} kWh`;

const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

/** `1-02:03:04`, Slurm's format. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, "0");
  const days = Math.floor(whole / 86_400);
  const time = `${two(Math.floor(whole / 3_600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return days === 0 ? time : `${days}-${time}`;
}

const stretchHead = [
  "HOST",
  "GPU",
  "MODEL",
  "HELD",
  "USEFUL",
  "IDLE",
  "ENERGY",
  "TENSOR",
  "DRAM",
  "PEAK MEMORY",
  "NOTES",
];

export const stretchRows = (stretches: readonly JobStretch[]): string[][] => [
  stretchHead,
  ...stretches.map((stretch) => [
    stretch.host,
    String(stretch.gpu),
    stretch.model,
    clock(stretch.gpuSeconds),
    clock(stretch.usefulSeconds),
    clock(stretch.heldIdleSeconds),
    kilowattHours(stretch.joules),
    stretch.meanTensorRatio === undefined ? "-" : percent(stretch.meanTensorRatio),
    stretch.meanDramRatio === undefined ? "-" : percent(stretch.meanDramRatio),
    stretch.peakMemoryBytes === undefined ? "-" : gigabytes(stretch.peakMemoryBytes),
    notesOf(stretch).join("; ") || "-",
  ]),
];

function notesOf({
  throttledSeconds,
  xids,
  anomalies,
  neighbours,
  unobservedSeconds,
}: JobStretch): string[] {
  return [
    ...Object.entries(throttledSeconds).map(([why, seconds]) => `${why} ${clock(seconds)}`),
    ...Object.entries(xids).map(([xid, count]) => `Xid ${xid} ×${count}`),
    ...anomalies,
    ...(neighbours.length === 0 ? [] : [`shared with ${neighbours.length}`]),
    ...(unobservedSeconds === 0 ? [] : [`no readings for ${clock(unobservedSeconds)}`]),
  ];
}

export function jobText(job: JobRecord, price?: JobPrice, nowMs?: number): string {
  const lines = jobFacts(job, price, nowMs).map(([name, value]) => `${name}: ${value}\n`);
  return `${lines.join("")}\n${judgeJob(job).join("\n")}\n`;
}

/** Without the prefix that the labels have in series. */
const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name.replace(/^label_/, "")}=${value}`)
    .join(", ");
