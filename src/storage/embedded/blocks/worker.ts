/** The worker thread that writes blocks, so that sealing and compaction never delay ingestion or a query. */
import { serveJobs } from "../../../base/worker-thread.ts";
import { runBlockJob } from "./job.ts";

serveJobs(runBlockJob);
