// A worker's metrics: jobs by queue and outcome, their waiting and processing times, and jobs put back.

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

import { type QueueName, QUEUES } from "../queue/job.ts";
import { REQUEST_SECONDS } from "../run/buckets.ts";

const BATCH_SECONDS = [30, 60, 120, 300, 600] as const;

export type WorkerMetrics = ReturnType<typeof workerMetrics>;

export function workerMetrics(active: (queue: QueueName) => number) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const byQueue = { labelNames: ["queue"], registers };
  const jobs = new Counter({
    name: "worker_jobs_total",
    help: "Jobs done, by how they ended.",
    labelNames: ["queue", "outcome"],
    registers,
  });
  for (const queue of QUEUES) {
    for (const outcome of ["ok", "failed", "expired"]) jobs.inc({ queue, outcome }, 0);
  }
  const gauge: Gauge = new Gauge({
    ...byQueue,
    name: "worker_jobs_active",
    help: "Jobs that are being done now.",
    collect: () => {
      for (const queue of QUEUES) gauge.set({ queue }, active(queue));
    },
  });
  return {
    registry,
    jobs,
    seconds: new Histogram({
      ...byQueue,
      name: "worker_job_duration_seconds",
      help: "From taking a job to its result being written.",
      buckets: [...REQUEST_SECONDS, ...BATCH_SECONDS],
    }),
    waited: new Histogram({
      ...byQueue,
      name: "worker_queue_wait_seconds",
      help: "From putting a job into the queue to taking it.",
      buckets: [...REQUEST_SECONDS, ...BATCH_SECONDS],
    }),
    recovered: new Counter({
      name: "worker_jobs_recovered_total",
      help: "Jobs of workers that died, put back into their queue.",
      registers,
    }),
    retries: new Counter({
      name: "worker_result_retries_total",
      help: "Attempts to write a result that failed; the result is kept and tried again.",
      registers,
    }),
  };
}
