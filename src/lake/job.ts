/** The lake's jobs that are too long for the main thread: sorting and encoding rows, and merging files. */
import { findWorkerFile, WorkerThread } from "../base/worker-thread.ts";
import type { LakeFormat } from "./commit.ts";
import { openBytes } from "./decode.ts";
import { encodeRows } from "./encode.ts";
import { joinRows, sortRows } from "./order.ts";
import type { Rows } from "./table.ts";

export type LakeJob =
  | {
      readonly kind: "encode";
      readonly rows: Rows;
      readonly version: string;
      readonly format?: LakeFormat;
      readonly metadata?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "merge";
      readonly files: readonly Uint8Array[];
      readonly version: string;
      readonly format?: LakeFormat;
      readonly metadata: Readonly<Record<string, string>>;
    };

export interface LakeJobResult {
  readonly bytes: Uint8Array;
  readonly rowCount: number;
}

export interface LakeWorker {
  run(job: LakeJob): Promise<LakeJobResult>;
  /** Starts its thread, if it has one, before the first job. */
  prepare?(): void;
  close(): Promise<void>;
}

/** Runs jobs in a thread, or in the calling thread if there is no worker file. */
export function openLakeWorker(): LakeWorker {
  const file = findWorkerFile("lake-worker.js");
  return file === undefined
    ? { run: runLakeJob, close: async () => {} }
    : new WorkerThread({ file, name: "lake", idleMs: 5_000 });
}

export async function runLakeJob(job: LakeJob): Promise<LakeJobResult> {
  const { metadata = {}, version, format = "parquet" } = job;
  const rows = sortRows(job.kind === "merge" ? await mergedRows(job.files) : job.rows);
  const bytes = await encodeRows(rows, { version, metadata, format });
  return { bytes, rowCount: rows.count };
}

async function mergedRows(files: readonly Uint8Array[]): Promise<Rows> {
  const parts: Rows[] = [];
  for (const [at, bytes] of files.entries()) {
    const file = await openBytes(bytes, `file ${at + 1}`);
    parts.push(await file.rows(0, file.rowCount));
  }
  return joinRows(parts);
}
