/** The worker thread that evaluates large queries, so that they hold up neither ingest nor a small query. */
import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { serveQueries } from "./job.ts";
import type { QueryWorkerData } from "./pool.ts";

/** On Linux the priority is the thread's own: where cores are scarce, the main thread goes first. */
if (process.platform === "linux") setPriority(5);
serveQueries(workerData as QueryWorkerData);
