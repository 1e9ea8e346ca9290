// A batch job on one simulated GPU: a training run of a given length, step by step, with a realistically falling loss. Time and
// randomness are arguments.

const STEP_SECONDS = 0.5;
/** Kernels run during nearly all of a step; the rest is data loading. */
export const TRAINING_SHARE = 0.96;

export interface BatchOrder {
  readonly id: string;
  readonly seconds: number;
  /** The GPU to run on; any free one by default. */
  readonly gpu: number | undefined;
}

export type BatchState = "waiting" | "running" | "done";

export class Training {
  readonly order: BatchOrder;
  readonly gpu: number;
  readonly startedMs: number;
  #steps = 0;
  #loss: number | undefined;

  constructor(order: BatchOrder, gpu: number, nowMs: number) {
    this.order = order;
    this.gpu = gpu;
    this.startedMs = nowMs;
  }

  get endsMs(): number {
    return this.startedMs + this.order.seconds * 1000;
  }

  get steps(): number {
    return this.#steps;
  }

  /** The loss of the newest step; undefined before the first has ended. */
  get loss(): number | undefined {
    return this.#loss;
  }

  /** Completes all steps that end by `nowMs`; returns their number. */
  advance(nowMs: number, random: () => number): number {
    const doneMs = Math.min(nowMs, this.endsMs) - this.startedMs;
    const steps = Math.max(this.#steps, Math.floor(doneMs / 1000 / STEP_SECONDS));
    const more = steps - this.#steps;
    this.#steps = steps;
    if (more > 0) this.#loss = lossAt(steps, random());
    return more;
  }
}

/** From 5.5 towards 2.2, with decreasing noise. */
function lossAt(step: number, noise: number): number {
  const fallen = Math.exp(-step / 60);
  return 2.2 + 3.3 * fallen + (noise - 0.5) * (0.05 + 0.2 * fallen);
}
