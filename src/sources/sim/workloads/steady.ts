/** The simple workloads: idle, consecutive batches, and any single kernel. */
import { busyAt, type KernelName, kernels } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import {
  type WorkloadKind,
  apply,
  MemoryLoader,
  unitsIn,
  type WorkContext,
  type Workload,
  type WorkloadOptions,
} from "./workload.ts";

/** Nothing runs and no program holds a context. */
export const idleWorkload: Workload = {
  advance(_stepMs, _pace, _clockMs, demand) {
    apply(demand, kernels.idle, 0);
    demand.context = false;
    demand.memoryBytes = 0;
  },
};

/** Batch inference: full batches, then a pause while results are written. */
export class BatchWorkload implements Workload {
  readonly kind = "batch";
  readonly #context: WorkContext;
  readonly #loading: MemoryLoader;
  readonly #samplesPerSecond: number;
  #working = true;
  #leftMs: number;
  #samples = 0;

  constructor(context: WorkContext, { warm }: WorkloadOptions) {
    const { random } = context;
    this.#context = context;
    this.#loading = new MemoryLoader(
      context.memoryBytes * random.between(0.4, 0.9),
      random.between(4_000, 9_000),
      warm,
    );
    this.#samplesPerSecond = random.between(200, 2_000) * context.speed;
    this.#leftMs = random.between(15_000, 40_000);
  }

  advance(stepMs: number, pace: number, _clockMs: number, demand: Demand): void {
    if (this.#loading.advance(stepMs, demand)) return;
    const { random, tally } = this.#context;
    apply(demand, kernels.infer_heavy, this.#working ? 0.97 : 0);
    if (this.#working) {
      this.#samples += (this.#samplesPerSecond * stepMs * pace) / 1_000;
      const whole = Math.floor(this.#samples);
      this.#samples -= whole;
      tally.samples.batch += whole;
    } else demand.transmit = 0.3;
    this.#leftMs -= stepMs;
    if (this.#leftMs <= 0) {
      this.#working = !this.#working;
      this.#leftMs = this.#working ? random.between(15_000, 40_000) : random.between(800, 3_000);
    }
  }
}

/** One kernel in its own pattern, such as the stress test. */
export class SteadyWorkload implements Workload {
  readonly kind: WorkloadKind;
  readonly #context: WorkContext;
  readonly #kernel: KernelName;
  readonly #loading: MemoryLoader;
  #sinceMs = 0;

  constructor(
    context: WorkContext,
    { warm }: WorkloadOptions,
    kernel: KernelName,
    kind: WorkloadKind,
  ) {
    this.kind = kind;
    this.#context = context;
    this.#kernel = kernel;
    this.#loading = new MemoryLoader(
      context.memoryBytes * (kernel === "stress" ? 0.9 : 0.4),
      2_000,
      warm,
    );
  }

  advance(stepMs: number, pace: number, _clockMs: number, demand: Demand): void {
    if (this.#loading.advance(stepMs, demand)) return;
    const busy = busyAt(kernels[this.#kernel].pattern, this.#sinceMs);
    apply(demand, kernels[this.#kernel], busy);
    // Other kernels do a different kind of work, so their units would not be comparable.
    if (this.#kernel === "stress")
      this.#context.done.units += busy * unitsIn(this.#context, stepMs, pace);
    this.#sinceMs += stepMs;
  }
}
