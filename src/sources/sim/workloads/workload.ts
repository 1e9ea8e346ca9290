/** What runs on a GPU: something that says, step by step, what it asks of the card. */
import { ml } from "../../../model/catalogue/index.ts";
import type { Kernel } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import type { Random } from "../random.ts";

/* What the work of a group of GPUs adds up to: jobs, steps, requests, samples, tokens. Read by the emitter, never reset. */

export const jobKinds = ["training", "inference", "batch", "stress"] as const;
export type WorkloadKind = (typeof jobKinds)[number];
export const jobOutcomes = ["succeeded", "failed", "cancelled"] as const;
export type JobOutcome = (typeof jobOutcomes)[number];

export class LatencyHistogram {
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
  /** The stream of this GPU alone. */
  readonly random: Random;
  readonly tally: Tally;
  /** Memory a program can get on this card. */
  readonly memoryBytes: number;
  /** How fast this model is over an H200: sizes what a job gets done, not how long its steps take. */
  readonly speed: number;
  /** What this GPU got done under a load that counts its work; never reset. */
  readonly done: { units: number };
}

/** How a workload is asked for. */
export interface WorkloadOptions {
  /** Busy share of an inference service. */
  readonly level: number;
  /** Already running when one first looks: nothing is left to load. */
  readonly warm: boolean;
  /** Units of work a second; as much as the card can where absent. */
  readonly rate?: number | undefined;
}

export interface Workload {
  /** Absent for idling: no job. */
  readonly kind?: WorkloadKind;
  /**
   * Writes the demand of the coming step. `pace` is how fast work went in the last one: 1 at boost on a sound card.
   * `clockMs` is the virtual time of day and date.
   */
  advance(stepMs: number, pace: number, clockMs: number, demand: Demand): void;
}

/** An H200 at boost, whose speed is 1: one unit is a millisecond of it. */
const UNITS_PER_SECOND_AT_SPEED_ONE = 1_000;

/** The units of work that a card gets done in a step in which it is busy throughout. */
export const unitsIn = ({ speed }: WorkContext, stepMs: number, pace: number): number =>
  (speed * UNITS_PER_SECOND_AT_SPEED_ONE * pace * stepMs) / 1_000;

/** A share of a kernel's activity, into a demand that keeps its memory and context. */
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

/** Memory of a starting program, filled from the host: true until all of it is there. */
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
