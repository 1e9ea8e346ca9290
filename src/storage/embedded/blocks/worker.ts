/** The thread in which blocks are made, so that sealing and compaction never hold up ingest or a query. */
import { parentPort } from "node:worker_threads";
import { formatError, systemCode } from "../../../base/error.ts";
import { type BlockJob, type BlockJobResult, runBlockJob } from "./job.ts";

export interface BlockWorkerReply {
  readonly done?: BlockJobResult;
  readonly failed?: { readonly message: string; readonly code: string | undefined };
}

const port = parentPort;
if (port === null) throw new Error("BUG: the store's worker was not started as a worker");

port.on("message", (job: BlockJob) => {
  const answer = (message: BlockWorkerReply): void => port.postMessage(message);
  runBlockJob(job).then(
    (done) => answer({ done }),
    (thrown: unknown) =>
      answer({ failed: { message: formatError(thrown), code: systemCode(thrown) } }),
  );
});
