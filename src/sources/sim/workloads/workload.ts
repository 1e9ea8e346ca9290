/** The interface of workloads: each determines, step by step, the load on its GPU. */
import { ml } from "../../../model/catalogue/index.ts";
import type { Kernel } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import type { Random } from "../random.ts";

/* The completed work of a group of GPUs: jobs, steps, requests, samples, tokens. Read by the emitter, never reset. */

export const jobKinds = ["training", "inference", "batch", "stress"] as const;
export type WorkloadKind = (typeof jobKinds)[number];
export const jobOutcomes = ["succeeded", "failed", "cancelled"] as const;
export type JobOutcome = (typeof jobOutcomes)[number];

export class LatencyHistogram {
  readonly bounds: readonly number[];
  /** Not cumulative; the last one counts values above every bound. */
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
  readonly steps = new LatencyHistogram(ml.stepDuration.buckets ?? []);
  readonly requests = new LatencyHistogram(ml.requestDuration.buckets ?? []);
  readonly samples = zeroes(jobKinds);
  readonly tokens = zeroes(jobKinds);
  readonly running = zeroes(jobKinds);
  readonly ended: Record<WorkloadKind, Record<JobOutcome, number>> = {
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

export interface WorkContext {
  /** This GPU's own random stream. */
  readonly random: Random;
  readonly tally: Tally;
  /** Memory available to a program on this card. */
  readonly memoryBytes: number;
  /** The model's speed relative to an H200: scales the work of a job, not the duration of its steps. */
  readonly speed: number;
  /** Work this GPU has completed under a load that counts it; never reset. */
  readonly done: { units: number };
}

/** A workload's configuration. */
export interface WorkloadOptions {
  /** Busy share of an inference service. */
  readonly level: number;
  /** Start in the running state, with nothing left to load. */
  readonly warm: boolean;
  /** Units of work per second; as many as the card can do if absent. */
  readonly rate?: number | undefined;
}

export interface Workload {
  /** Absent for idle, which is no job. */
  readonly kind?: WorkloadKind;
  /**
   * Writes the load of the coming step. `pace` is the speed of work in the last step: 1 at boost on a healthy card. `clockMs` is
   * the virtual date and time.
   */
  advance(stepMs: number, pace: number, clockMs: number, demand: Demand): void;
}

/** An H200 at boost, whose speed is 1: one unit is one millisecond of its work. */
const UNITS_PER_SECOND_AT_SPEED_ONE = 1_000;

/** The units of work a card completes in a step in which it is always busy. */
export const unitsIn = ({ speed }: WorkContext, stepMs: number, pace: number): number =>
  (speed * UNITS_PER_SECOND_AT_SPEED_ONE * pace * stepMs) / 1_000;

/** Writes a share of a kernel's activity into a load, leaving its memory and context unchanged. */
export function apply(demand: Demand, kernel: Kernel, busy: number, core = 1): void {
  demand.busy = busy;
  demand.core = kernel.core * core;
  demand.dram = kernel.dram;
  demand.memoryBusy = kernel.memoryBusy;
  demand.tensor = kernel.tensor;
  demand.units = kernel.units;
  demand.receive = busy * kernel.receive;
  demand.transmit = busy * kernel.transmit;
}

/** Fills the memory of a starting program from the host; returns true when it is complete. */
export class MemoryLoader {
  readonly #bytes: number;
  readonly #totalMs: number;
  #doneMs = 0;

  constructor(bytes: number, totalMs: number, warm: boolean) {
    this.#bytes = Math.round(bytes);
    this.#totalMs = warm ? 0 : totalMs;
  }

  advance(stepMs: number, demand: Demand): boolean {
    demand.context = true;
    if (this.#doneMs >= this.#totalMs) {
      demand.memoryBytes = this.#bytes;
      return false;
    }
    this.#doneMs += stepMs;
    demand.memoryBytes = Math.round(this.#bytes * Math.min(1, this.#doneMs / this.#totalMs));
    demand.busy = 0;
    demand.receive = 0.25;
    demand.transmit = 0.01;
    return true;
  }
}
