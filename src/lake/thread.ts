/** The worker thread that encodes and merges files of the lake, so that a fleet's minute never blocks the hub. */
import { serveJobs } from "../base/worker-thread.ts";
import { runLakeJob } from "./job.ts";

serveJobs(runLakeJob, ({ bytes }) => [bytes.buffer as ArrayBuffer]);
