/** A model that serves requests: more by day than by night, in bursts, with its own request queue. */
import { kernels } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import {
  apply,
  MemoryLoader,
  type WorkContext,
  type Workload,
  type WorkloadOptions,
} from "./workload.ts";

const dayMs = 86_400_000;
const daySwing = 0.15;
const peakHour = 15;
const burstFactor = 1.7;

export class InferenceWorkload implements Workload {
  readonly kind = "inference";
  readonly #context: WorkContext;
  readonly #loading: MemoryLoader;
  readonly #serviceMs: number;
  readonly #level: number;
  readonly #tokensPerRequest: number;
  #backlogMs = 0;
  #bursting = false;
  #untilSwitchMs = 0;

  /** `level` is the mean share of time the card is busy serving. */
  constructor(context: WorkContext, { level, warm }: WorkloadOptions) {
    const { random } = context;
    this.#context = context;
    this.#level = level;
    this.#loading = new MemoryLoader(
      context.memoryBytes * random.between(0.3, 0.8),
      random.between(4_000, 10_000),
      warm,
    );
    this.#serviceMs = random.between(9, 28);
    this.#tokensPerRequest = Math.round(random.between(60, 260));
    this.#untilSwitchMs = random.exponential(60_000);
  }

  advance(stepMs: number, pace: number, clockMs: number, demand: Demand): void {
    if (this.#loading.advance(stepMs, demand)) return;
    const { random, tally, speed } = this.#context;
    this.#untilSwitchMs -= stepMs;
    if (this.#untilSwitchMs <= 0) {
      this.#bursting = !this.#bursting;
      this.#untilSwitchMs = random.exponential(this.#bursting ? 10_000 : 70_000);
    }
    const load = this.#level * daily(clockMs) * (this.#bursting ? burstFactor : 1);
    const arrivals = poisson((load * stepMs) / this.#serviceMs, random.next());
    for (let request = 0; request < arrivals; request++) {
      this.#backlogMs += this.#serviceMs;
      tally.requests.observe((this.#backlogMs / Math.max(0.05, pace) + 1) / 1_000);
    }
    // Callers give up after ten seconds of waiting.
    this.#backlogMs = Math.min(this.#backlogMs, 10_000);
    tally.tokens.inference += Math.round(arrivals * this.#tokensPerRequest * Math.max(0.1, speed));
    const canMs = stepMs * pace;
    const doneMs = Math.min(canMs, this.#backlogMs);
    this.#backlogMs -= doneMs;
    apply(demand, kernels.infer_medium, canMs > 0 ? doneMs / canMs : 0);
    demand.receive = 0.002 * demand.busy;
    demand.transmit = 0.001 * demand.busy;
  }
}

/** Traffic relative to its mean, by time of day. */
function daily(clockMs: number): number {
  const hours = (clockMs % dayMs) / 3_600_000;
  return 1 + daySwing * Math.cos(((hours - peakHour) / 24) * 2 * Math.PI);
}

/** Samples a number of events from one uniform draw, by inversion; means are small here. */
function poisson(mean: number, uniform: number): number {
  let probability = Math.exp(-mean);
  let below = probability;
  let count = 0;
  while (uniform > below && count < 1_000) {
    count += 1;
    probability *= mean / count;
    below += probability;
  }
  return count;
}
