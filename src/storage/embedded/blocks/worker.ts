/** The thread in which blocks are made, so that sealing and compaction never hold up ingest or a query. */
import { parentPort } from "node:worker_threads";
import { sayError, systemCode } from "../../../base/error.ts";
import type { Job, JobDone } from "./job.ts";
import { runJob } from "./job.ts";

export interface JobAnswer {
  readonly done?: JobDone;
  readonly failed?: { readonly message: string; readonly code: string | undefined };
}

const port = parentPort;
if (port === null) throw new Error("BUG: the store's worker was not started as a worker");

port.on("message", (job: Job) => {
  const answer = (message: JobAnswer): void => port.postMessage(message);
  runJob(job).then(
    (done) => answer({ done }),
    (thrown: unknown) =>
      answer({ failed: { message: sayError(thrown), code: systemCode(thrown) } }),
  );
});
