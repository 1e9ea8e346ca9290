/** Creates a workload from its name in a scenario. */
import { findKernelName, type KernelName, kernels } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import {
  apply,
  unitsIn,
  type WorkContext,
  type Workload,
  type WorkloadOptions,
} from "./workload.ts";
import { InferenceWorkload } from "./inference.ts";
import { BatchWorkload, idleWorkload, SteadyWorkload } from "./steady.ts";
import { TrainingWorkload } from "./training.ts";

/*
 * A load whose work is counted: as fast as the card allows, or a number of units per second. The completed work follows only from
 * model and clock.
 */

const memoryShare = 0.9;
/** Work that waits longer than this is dropped, as callers give up. */
const longestBacklogSeconds = 1;

export class CountedWorkload implements Workload {
  readonly kind = "stress";
  readonly #context: WorkContext;
  readonly #rate: number | undefined;
  #backlogUnits = 0;

  constructor(context: WorkContext, { rate }: WorkloadOptions) {
    this.#context = context;
    this.#rate = rate;
  }

  advance(stepMs: number, pace: number, _clockMs: number, demand: Demand): void {
    const { done, memoryBytes } = this.#context;
    const seconds = stepMs / 1_000;
    const canUnits = unitsIn(this.#context, stepMs, pace);
    if (this.#rate !== undefined)
      this.#backlogUnits = Math.min(
        this.#backlogUnits + this.#rate * seconds,
        this.#rate * longestBacklogSeconds,
      );
    const units = this.#rate === undefined ? canUnits : Math.min(canUnits, this.#backlogUnits);
    this.#backlogUnits = Math.max(0, this.#backlogUnits - units);
    done.units += units;
    demand.context = true;
    demand.memoryBytes = Math.round(memoryBytes * memoryShare);
    apply(demand, kernels.stress, canUnits > 0 ? units / canUnits : 0);
  }
}

/** In addition, every kernel's name is a workload: `matmul_fp32`, `memcopy`. */
export const workloadNames = ["idle", "training", "inference", "batch", "stress", "work"] as const;

/** True for loads that count their completed work, in comparable units. */
export const countsWork = (name: string): boolean => name === "work" || name === "stress";

export function knowsWorkload(name: string): boolean {
  return workloadNames.some((known) => known === name) || findKernelName(name) !== undefined;
}

export function makeWorkload(name: string, order: WorkloadOptions, context: WorkContext): Workload {
  if (name === "idle") return idleWorkload;
  if (name === "training") return new TrainingWorkload(context, order);
  if (name === "inference") return new InferenceWorkload(context, order);
  if (name === "work") return new CountedWorkload(context, order);
  if (name === "batch") return new BatchWorkload(context, order);
  const kernel: KernelName | undefined = findKernelName(name);
  if (kernel === undefined)
    throw new Error(`BUG: workload ${name} passed the schema but has no kernel`);
  return kernel === "idle" ? idleWorkload : new SteadyWorkload(context, order, kernel, "stress");
}
