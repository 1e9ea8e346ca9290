/** A load whose work is counted: as fast as the card can, or so many units a second. What gets done follows from model and clock alone. */
import { kernels } from "../kernels.ts";
import type { Demand } from "../physics/demand.ts";
import {
  apply,
  unitsIn,
  type WorkContext,
  type Workload,
  type WorkloadOptions,
} from "./workload.ts";

const memoryShare = 0.9;
/** Work that waits longer than this is given up, as callers do. */
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
