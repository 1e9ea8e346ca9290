/** The worker thread that evaluates large queries, so that they delay neither ingestion nor small queries. */
import { getPriority, setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { serveQueries } from "./job.ts";
import type { QueryWorkerData } from "./pool.ts";

/** How much the priority is lowered; 19 instead changed neither the p99 of other requests nor the throughput. */
const niceness = 5;
const lowestPriority = 19;

// On Linux priorities are per thread: with few cores, the main thread goes first. Relative to the process, because only root may
// raise the priority of a hub started with `nice`.
if (process.platform === "linux") setPriority(Math.min(lowestPriority, getPriority() + niceness));
serveQueries(workerData as QueryWorkerData);
