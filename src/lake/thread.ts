/** The thread in which files of the lake are encoded and merged, so that a fleet's minute never holds up the hub. */
import { parentPort } from "node:worker_threads";
import { formatError } from "../base/error.ts";
import { type LakeJob, runLakeJob } from "./job.ts";

export interface LakeWorkerReply {
  readonly bytes?: Uint8Array;
  readonly rowCount?: number;
  readonly failed?: string;
}

const port = parentPort;
if (port === null) throw new Error("BUG: the lake's worker was not started as a worker");

port.on("message", (job: LakeJob) => {
  runLakeJob(job).then(
    ({ bytes, rowCount }) =>
      port.postMessage({ bytes, rowCount } satisfies LakeWorkerReply, [
        bytes.buffer as ArrayBuffer,
      ]),
    (thrown: unknown) =>
      port.postMessage({ failed: formatError(thrown) } satisfies LakeWorkerReply),
  );
});
