/**
 * Parses the jobs in Slurm's accounting, from `sacct --json` or slurmrestd's /slurmdb/VERSION/jobs (22.05 and newer): every attempt
 * of a requeued job, processor time and memory of its steps, but no GPU indexes.
 */
import { isFinalState, type SchedulerJob } from "../../model/scheduler-job.ts";
import { type JobReading, readDocument, readJobEntry, type SlurmJobs } from "./document.ts";
import { exitOf, minutesToSeconds, reasonOf } from "./queue.ts";
import { parseHostList } from "./hostlist.ts";
import { countGpus, type TrackedResources } from "./resources.ts";
import {
  asList,
  asNumber,
  asPositive,
  asRecord,
  asText,
  asTimeMs,
  type JsonRecord,
} from "./value.ts";

export function parseSlurmAccounting(text: string): SlurmJobs {
  return readDocument(text, readRecordedJob);
}

function readRecordedJob(entry: JsonRecord): JobReading {
  const stateEntry = asRecord(entry["state"]);
  return readJobEntry(entry, stateEntry?.["current"], (state) => {
    const tres = asRecord(entry["tres"]);
    const requested = resourcesOf(tres?.["requested"]);
    const allocated = resourcesOf(tres?.["allocated"]);
    const time = asRecord(entry["time"]);
    const array = asRecord(entry["array"]);
    const arrayJobId = asPositive(array?.["job_id"])?.toString();
    const hosts = parseHostList(asText(entry["nodes"]) ?? "");
    return {
      hetJobId: asPositive(asRecord(entry["het"])?.["job_id"])?.toString(),
      arrayJobId,
      arrayTaskId: arrayJobId === undefined ? undefined : asNumber(array?.["task_id"]),
      arrayTasksWaiting: asText(array?.["task"]),
      user: asText(entry["user"]) ?? asText(asRecord(entry["association"])?.["user"]),
      stateReason: reasonOf(stateEntry?.["reason"]),
      ...(isFinalState(state) ? believedExit(state, entry["exit_code"]) : {}),
      submitMs: asTimeMs(time?.["submission"]),
      startMs: state === "waiting" ? undefined : asTimeMs(time?.["start"]),
      endMs: isFinalState(state) ? asTimeMs(time?.["end"]) : undefined,
      suspendedSeconds: asPositive(time?.["suspended"]),
      timeLimitSeconds: minutesToSeconds(asPositive(time?.["limit"])),
      requestedGpus: requested.gpus,
      allocatedGpus: allocated.gpus,
      allocatedCpus: allocated.cpus,
      allocatedMemoryBytes: allocated.memoryBytes,
      allocations: hosts?.map((host) => ({ host })),
      ...useOfSteps(asList(entry["steps"])),
    };
  });
}

/** 22.05 prints SUCCESS and 0 for a job that failed with 3: for a failed job, 0 is not an exit code. */
function believedExit(
  state: SchedulerJob["state"],
  value: unknown,
): Pick<SchedulerJob, "exitCode" | "exitSignal"> {
  const exit = exitOf(value);
  return state !== "completed" && exit.exitCode === 0 && exit.exitSignal === undefined ? {} : exit;
}

/** `[{"type": "gres", "name": "gpu", "count": 2}, {"type": "mem", "name": null, "count": 1000}]`, memory in MiB. */
function resourcesOf(value: unknown): TrackedResources {
  const counts = asList(value).map((item) => {
    const record = asRecord(item);
    const name = asText(record?.["name"]);
    const type = asText(record?.["type"]) ?? "";
    return [name === undefined ? type : `${type}/${name}`, asNumber(record?.["count"])] as const;
  });
  const countOf = (name: string): number | undefined => counts.find(([one]) => one === name)?.[1];
  const memory = countOf("mem");
  return {
    gpus: countGpus(counts),
    cpus: countOf("cpu"),
    memoryBytes: memory === undefined ? undefined : memory * 2 ** 20,
  };
}

/**
 * A measured step has a peak of its memory; a running step, or one whose node was lost, has none, and its 0 seconds of processor
 * time are meaningless.
 */
function useOfSteps(
  steps: readonly unknown[],
): Pick<SchedulerJob, "cpuSeconds" | "peakMemoryBytes"> {
  let cpuSeconds: number | undefined;
  let peakMemoryBytes: number | undefined;
  for (const step of steps.slice(0, 100_000)) {
    const peaks = asList(
      asRecord(asRecord(asRecord(asRecord(step)?.["tres"])?.["requested"]))?.["max"],
    );
    const memory = peaks.map(asRecord).find((peak) => peak?.["type"] === "mem");
    const peakBytes = asPositive(memory?.["count"]);
    const total = asRecord(asRecord(asRecord(step)?.["time"])?.["total"]);
    const seconds = asNumber(total?.["seconds"]);
    if (peakBytes === undefined || seconds === undefined) continue;
    // 22.05 writes more than a million microseconds.
    cpuSeconds = (cpuSeconds ?? 0) + seconds + (asNumber(total?.["microseconds"]) ?? 0) / 1e6;
    peakMemoryBytes = Math.max(peakMemoryBytes ?? 0, peakBytes);
  }
  return { cpuSeconds, peakMemoryBytes };
}
