/** The worker thread that writes blocks, so that sealing and compaction never hold up ingest or a query. */
import { serveJobs } from "../../../base/worker-thread.ts";
import { runBlockJob } from "./job.ts";

serveJobs(runBlockJob);
