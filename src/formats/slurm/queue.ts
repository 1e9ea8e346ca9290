/**
 * Parses the jobs of the controller, from `squeue --json` or slurmrestd's /slurm/VERSION/jobs (22.05 and newer). Only these have
 * the indexes of a job's GPUs, and only while the job holds them.
 */
import {
  isFinalState,
  type SchedulerAllocation,
  type SchedulerJob,
} from "../../model/scheduler-job.ts";
import { type JobReading, readDocument, readJobEntry, type SlurmJobs } from "./document.ts";
import { parseHostList } from "./hostlist.ts";
import { parseNodeGpus, parseRequestedGpus, parseTrackedResources } from "./resources.ts";
import {
  asList,
  asNumber,
  asPositive,
  asRecord,
  asText,
  asTimeMs,
  type JsonRecord,
} from "./value.ts";

export function parseSlurmQueue(text: string): SlurmJobs {
  return readDocument(text, readQueuedJob);
}

function readQueuedJob(entry: JsonRecord): JobReading {
  return readJobEntry(entry, entry["job_state"], (state) => {
    const isWaiting = state === "waiting";
    const requested = parseTrackedResources(asText(entry["tres_req_str"]) ?? "");
    const allocated = parseTrackedResources(asText(entry["tres_alloc_str"]) ?? "");
    const allocations = isWaiting ? [] : allocationsOf(entry);
    const allocatedGpus = allocated.gpus ?? sumOfGpus(allocations);
    return {
      hetJobId: asPositive(entry["het_job_id"])?.toString(),
      arrayJobId: asPositive(entry["array_job_id"])?.toString(),
      arrayTaskId: isArray(entry) ? asNumber(entry["array_task_id"]) : undefined,
      arrayTasksWaiting: asText(entry["array_task_string"]),
      user: asText(entry["user_name"]),
      stateReason: reasonOf(entry["state_reason"]),
      ...(isFinalState(state) ? exitOf(entry["exit_code"]) : {}),
      submitMs: asTimeMs(entry["submit_time"]),
      // The start time of a waiting job is Slurm's estimate.
      startMs: isWaiting ? undefined : asTimeMs(entry["start_time"]),
      endMs: isFinalState(state) ? asTimeMs(entry["end_time"]) : undefined,
      timeLimitSeconds: minutesToSeconds(asPositive(entry["time_limit"])),
      requestedGpus: requested.gpus ?? askedGpus(entry),
      allocatedGpus: isWaiting ? undefined : allocatedGpus,
      allocatedCpus: isWaiting ? undefined : allocated.cpus,
      allocatedMemoryBytes: isWaiting ? undefined : allocated.memoryBytes,
      allocations,
    };
  });
}

const isArray = (entry: JsonRecord): boolean => asPositive(entry["array_job_id"]) !== undefined;

const sumOfGpus = (allocations: readonly SchedulerAllocation[] | undefined): number | undefined =>
  allocations?.reduce<number | undefined>(
    (sum, { gpuCount }) => (gpuCount === undefined ? sum : (sum ?? 0) + gpuCount),
    undefined,
  );

/** The n-th detail belongs to the n-th node. After the end of the job there are only nodes. */
function allocationsOf(entry: JsonRecord): readonly SchedulerAllocation[] | undefined {
  const hosts = parseHostList(asText(entry["nodes"]) ?? "");
  if (hosts === undefined) return undefined;
  const details = asList(entry["gres_detail"]).map((detail) =>
    parseNodeGpus(typeof detail === "string" ? detail : ""),
  );
  return hosts.map((host, index) => ({
    host,
    ...(details.length === hosts.length ? details[index] : {}),
  }));
}

/** The number of GPUs the user requested, for sites that do not track `gres/gpu`. */
function askedGpus(entry: JsonRecord): number | undefined {
  const perJob = parseRequestedGpus(asText(entry["tres_per_job"]) ?? "");
  if (perJob !== undefined) return perJob;
  const perNode = parseRequestedGpus(asText(entry["tres_per_node"]) ?? "");
  const nodes = asPositive(entry["node_count"]);
  if (perNode !== undefined && nodes !== undefined) return perNode * nodes;
  const perTask = parseRequestedGpus(asText(entry["tres_per_task"]) ?? "");
  const tasks = asPositive(entry["tasks"]);
  return perTask === undefined || tasks === undefined ? undefined : perTask * tasks;
}

/** Slurm writes `None` for no reason. */
export function reasonOf(value: unknown): string | undefined {
  const reason = asText(value);
  return reason === "None" ? undefined : reason;
}

export const minutesToSeconds = (minutes: number | undefined): number | undefined =>
  minutes === undefined ? undefined : minutes * 60;

/**
 * Parses a wait status as a number (22.05: 768 is exit code 3, 15 is signal 15; 23.02 wraps it), or since 23.11 a record
 * `{"return_code": …, "signal": {"id": …}}`.
 */
export function exitOf(value: unknown): Pick<SchedulerJob, "exitCode" | "exitSignal"> {
  const record = asRecord(value);
  if (record !== undefined && "return_code" in record) {
    const signal = asRecord(record["signal"]);
    const exitSignal = asPositive(signal?.["id"] ?? signal?.["signal_id"]);
    return { exitCode: asNumber(record["return_code"]), exitSignal };
  }
  const status = asNumber(value);
  if (status === undefined || status > 65_535) return {};
  const signal = status % 128;
  return { exitCode: Math.floor(status / 256), ...(signal === 0 ? {} : { exitSignal: signal }) };
}
