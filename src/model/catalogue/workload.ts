/** Metrics of machine-learning work on a host: the queue that feeds the GPUs, and the rate of steps and requests. */
import { entry, type MetricEntryOptions } from "./define.ts";
import type { LabelSpec, MetricEntry } from "./entry.ts";

const workload = (name: string, draft: MetricEntryOptions): MetricEntry =>
  entry("workload", name, { given: { sim: "the job queue" }, ...draft });

const kind: LabelSpec = {
  name: "kind",
  help: "What the job does.",
  values: ["training", "inference", "batch", "stress"],
};

export const ml = {
  queueDepth: workload("ml_queue_depth", { help: "Jobs that wait for a GPU.", resolution: 1 }),
  jobsRunning: workload("ml_jobs_running", {
    help: "Jobs that hold a GPU now.",
    labels: [kind],
    resolution: 1,
  }),
  jobs: workload("ml_jobs_total", {
    help: "Jobs that ended.",
    labels: [
      kind,
      { name: "outcome", help: "Outcome.", values: ["succeeded", "failed", "cancelled"] },
    ],
  }),
  stepDuration: workload("ml_step_duration_seconds", {
    kind: "histogram",
    help: "Time of a training step.",
    buckets: [0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 5],
  }),
  requestDuration: workload("ml_request_duration_seconds", {
    kind: "histogram",
    help: "Time of an inference request, waiting included.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  }),
  samples: workload("ml_samples_total", {
    help: "Training samples worked through.",
    labels: [kind],
  }),
  tokens: workload("ml_tokens_total", { help: "Tokens trained on or generated.", labels: [kind] }),
} as const;
