/** Parses the common output of `squeue --json`, `sacct --json` and slurmrestd: a version, errors, and jobs. */
import { defined } from "../../base/defined.ts";
import type { SchedulerJob } from "../../model/scheduler-job.ts";
import { stateOfWords } from "./state.ts";
import {
  asList,
  asNumber,
  asPositive,
  asRecord,
  asText,
  asWords,
  type JsonRecord,
} from "./value.ts";

/** The whole output is unusable; the message has the reason. */
export class SlurmFormatError extends Error {}

export interface SlurmJobs {
  /** Such as `22.05.8`; absent if the output has none. */
  readonly release?: string | undefined;
  /** Jobs that hold, held or requested a GPU. */
  readonly jobs: readonly SchedulerJob[];
  /** Number of unreadable entries; `firstProblem` is the reason of the first. */
  readonly unreadable: number;
  readonly firstProblem?: string | undefined;
}

/** A job, `without-gpu` for one to ignore, or why the entry is unreadable. */
export type JobReading = SchedulerJob | "without-gpu" | { readonly problem: string };

export function readDocument(text: string, readJob: (entry: JsonRecord) => JobReading): SlurmJobs {
  const document = asRecord(parseJson(text));
  const entries = document?.["jobs"];
  const errors = asList(document?.["errors"]).map(describeError);
  if (!Array.isArray(entries)) {
    const reason = errors.length > 0 ? `: ${errors.join("; ")}` : "";
    throw new SlurmFormatError(`Slurm's answer has no list of jobs${reason}`);
  }
  if (entries.length === 0 && errors.length > 0)
    throw new SlurmFormatError(`Slurm reported: ${errors.join("; ").slice(0, 500)}`);
  const jobs: SchedulerJob[] = [];
  let unreadable = 0;
  let firstProblem: string | undefined;
  for (const entry of entries) {
    const record = asRecord(entry);
    const job = record === undefined ? { problem: "an entry is not an object" } : readJob(record);
    if (job === "without-gpu") continue;
    if ("problem" in job) {
      unreadable++;
      firstProblem ??= job.problem;
    } else jobs.push(job);
  }
  return { release: releaseOf(document), jobs, unreadable, firstProblem };
}

type JobFields = { readonly [Name in keyof SchedulerJob]?: SchedulerJob[Name] | undefined };

/**
 * Parses the fields that the entries of the controller and of accounting share.
 *
 * @param state the entry's state field
 * @param fieldsOf returns the fields with a different location; a job without GPUs is ignored
 */
export function readJobEntry(
  entry: JsonRecord,
  state: unknown,
  fieldsOf: (state: SchedulerJob["state"]) => JobFields,
): JobReading {
  const id = asPositive(entry["job_id"]);
  if (id === undefined) return { problem: "a job has no id" };
  const words = asWords(state);
  const found = stateOfWords(words);
  if (found === undefined)
    return { problem: `job ${id} has an unknown state ${words.join(", ") || "(none)"}` };
  const fields = fieldsOf(found);
  if (fields.requestedGpus === undefined && fields.allocatedGpus === undefined)
    return "without-gpu";
  return {
    scheduler: "slurm",
    id: String(id),
    state: found,
    stateText: words.join(" "),
    ...defined({
      cluster: asText(entry["cluster"]),
      restartCount: asNumber(entry["restart_cnt"]),
      name: asText(entry["name"]),
      account: asText(entry["account"]),
      partition: asText(entry["partition"]),
      ...fields,
    }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const start = text.trimStart().slice(0, 80).replace(/\s+/g, " ");
    throw new SlurmFormatError(
      start === "" ? "Slurm's answer is empty" : `Slurm's response is not JSON: ${start}`,
    );
  }
}

/** An error is a string, or a record with `description`, `error` and a number, of which 22.05 sets two. */
export function describeError(error: unknown): string {
  const record = asRecord(error);
  const texts = [error, record?.["description"], record?.["error"]].flatMap(
    (text) => asText(text) ?? [],
  );
  if (texts.length > 0) return texts.join(": ");
  return `error ${asNumber(record?.["error_number"] ?? record?.["errno"]) ?? "without a text"}`;
}

function releaseOf(document: JsonRecord | undefined): string | undefined {
  const meta = asRecord(document?.["meta"]);
  return asText(asRecord(meta?.["Slurm"] ?? meta?.["slurm"])?.["release"]);
}
