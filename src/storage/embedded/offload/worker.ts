/** The worker thread that evaluates large queries, so that they delay neither ingestion nor small queries. */
import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { serveQueries } from "./job.ts";
import type { QueryWorkerData } from "./pool.ts";

/** On Linux priorities are per thread: with few cores, the main thread goes first. */
if (process.platform === "linux") setPriority(5);
serveQueries(workerData as QueryWorkerData);
