/**
 * Exports the ledger as a table of the lake: `jobs/date=YYYY-MM-DD/`, one row per job and hour, one file per day and hub,
 * rewritten when the day has changed. The ledger is authoritative: a missing or outdated file is written again.
 */
import { createHash } from "node:crypto";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { LakeWorker } from "../../lake/job.ts";
import { parsePath, partitionFolder, safeName } from "../../lake/names.ts";
import { GrowingRows } from "../../lake/table.ts";
import type { FileStore } from "../../net/objects/store.ts";
import { dayOf, hourMs, type JobDayPart, type JobHour } from "../../runs/jobs/record.ts";
import type { HubJobs } from "./jobs.ts";

export interface JobLakeTableOptions {
  readonly jobs: HubJobs;
  readonly files: FileStore;
  readonly workers: LakeWorker;
  /** Name of this hub: several hubs may write to one bucket. */
  readonly name: string;
  readonly version: string;
  /** Retention of the lake; earlier days are not written. */
  readonly retentionMs: number | undefined;
  readonly log: Log;
  readonly nowMs: () => number;
}

const writeEveryMs = 900_000;
/** The object store's clock may be this much ahead of the hub's. */
const clockSkewMs = 60_000;

export class JobLakeTable {
  readonly #options: JobLakeTableOptions;
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;
  /** Digest of the last written content, by day. */
  readonly #digests = new Map<string, string>();
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: JobLakeTableOptions) {
    this.#options = options;
    this.#file = `ledger-${safeName(options.name)}.parquet`;
    this.#timer = setInterval(() => void this.write(), writeEveryMs).unref();
  }

  /** Writes every day that has changed. Never rejects: a failure is logged, and the next call writes again. */
  write(signal?: AbortSignal): Promise<void> {
    return (this.#writing ??= this.#write(signal)
      .then(() => void (this.#isFailing = false))
      .catch((thrown: unknown) => {
        if (!this.#isFailing)
          this.#options.log.warn("the lake's table of jobs could not be written", {
            error: formatError(thrown),
          });
        this.#isFailing = true;
      })
      .finally(() => (this.#writing = undefined)));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
    await this.#options.workers.close();
  }

  async #write(signal: AbortSignal | undefined): Promise<void> {
    const { jobs, files, retentionMs, nowMs } = this.#options;
    const running = this.#runningParts();
    const writtenMs = new Map<string, number>();
    for (const { path, modifiedMs } of await files.list("jobs/date=", signal)) {
      const name = parsePath(path);
      if (name?.name === this.#file) writtenMs.set(name.date, modifiedMs);
    }
    const oldest = retentionMs === undefined ? "" : dayOf(nowMs() - retentionMs);
    for (const day of new Set([...jobs.files.days(), ...running.keys()])) {
      if (day < oldest || signal?.aborted === true) continue;
      const isBehind = (writtenMs.get(day) ?? 0) - clockSkewMs <= jobs.files.partsChangedMs(day);
      if (isBehind || running.has(day)) await this.#writeDay(day, running.get(day) ?? [], signal);
    }
  }

  async #writeDay(
    day: string,
    running: readonly JobDayPart[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { jobs, files, workers, version } = this.#options;
    const rows = new GrowingRows("jobs");
    const digest = createHash("sha256");
    for (const part of [...jobs.files.readParts(day).values(), ...running]) {
      digest.update(JSON.stringify(part));
      addPart(rows, part);
    }
    const made = digest.digest("hex");
    if (this.#digests.get(day) === made) return;
    const path = partitionFolder("jobs", day) + this.#file;
    if (rows.count === 0) await files.remove(path, signal);
    else {
      const { bytes } = await workers.run({ kind: "encode", rows: rows.finish(), version });
      await files.write(path, bytes, signal);
    }
    this.#digests.set(day, made);
  }

  #runningParts(): Map<string, JobDayPart[]> {
    const days = new Map<string, JobDayPart[]>();
    for (const open of this.#options.jobs.openJobs()) {
      const hours = new Map<string, JobHour[]>();
      for (const hour of open.hours()) {
        const day = dayOf(hour[0] * hourMs);
        const own = hours.get(day);
        if (own === undefined) hours.set(day, [hour]);
        else own.push(hour);
      }
      for (const [day, own] of hours) {
        const parts = days.get(day);
        if (parts === undefined) days.set(day, [open.part(own)]);
        else parts.push(open.part(own));
      }
    }
    return days;
  }
}

function addPart(rows: GrowingRows, part: JobDayPart): void {
  for (const [hour, gpuSeconds, usefulSeconds, heldIdleSeconds, joules] of part.hours) {
    const row = rows.row(part.id, hour * hourMs);
    rows.setText(row, "job", part.id);
    rows.setText(row, "name", part.name);
    rows.setText(row, "kind", part.kind);
    rows.setText(row, "user_name", part.user);
    rows.setText(row, "account", part.account);
    rows.setText(row, "project", part.namespace ?? part.account);
    rows.setNumber(row, "gpu_seconds", gpuSeconds);
    rows.setNumber(row, "useful_seconds", usefulSeconds);
    rows.setNumber(row, "held_idle_seconds", heldIdleSeconds);
    rows.setNumber(row, "joules", joules);
  }
}
