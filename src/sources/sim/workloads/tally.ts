/** What the work of a group of GPUs adds up to: jobs, steps, requests, samples, tokens. Read by the emitter, never reset. */
import { ml } from "../../../model/catalogue/index.ts";

export const jobKinds = ["training", "inference", "batch", "stress"] as const;
export type JobKind = (typeof jobKinds)[number];
export const jobOutcomes = ["succeeded", "failed", "cancelled"] as const;
export type JobOutcome = (typeof jobOutcomes)[number];

export class Histogram {
  readonly bounds: readonly number[];
  /** Not cumulative; the last counts what is over every bound. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}

export class Tally {
  readonly steps = new Histogram(ml.stepDuration.buckets ?? []);
  readonly requests = new Histogram(ml.requestDuration.buckets ?? []);
  readonly samples = zeroes(jobKinds);
  readonly tokens = zeroes(jobKinds);
  readonly running = zeroes(jobKinds);
  readonly ended: Record<JobKind, Record<JobOutcome, number>> = {
    training: zeroes(jobOutcomes),
    inference: zeroes(jobOutcomes),
    batch: zeroes(jobOutcomes),
    stress: zeroes(jobOutcomes),
  };
  waiting = 0;
}

function zeroes<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}
