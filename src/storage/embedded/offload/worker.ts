/** The worker thread that evaluates large queries, so that they hold up neither ingest nor a small query. */
import { workerData } from "node:worker_threads";
import type { QueryWorkerData } from "./pool.ts";
import { serveQueries } from "./job.ts";

serveQueries((workerData as QueryWorkerData).cacheBytes);
