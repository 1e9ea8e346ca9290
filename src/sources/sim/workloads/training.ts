/**
 * Training: steps of forward, backward and optimiser, with occasional waits for data, a checkpoint, and an evaluation after each epoch.
 */
import { kernels } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import {
  apply,
  MemoryLoader,
  type WorkContext,
  type Workload,
  type WorkloadOptions,
} from "./workload.ts";

/** Share of the optimiser and the gradient exchange, with less arithmetic and more memory traffic. */
const optimiserShare = 0.1;
const evaluationBusy = 0.88;

type Phase = "step" | "stall" | "checkpoint" | "evaluate";

export class TrainingWorkload implements Workload {
  readonly kind = "training";
  readonly #context: WorkContext;
  readonly #loading: MemoryLoader;
  readonly #stepMs: number;
  readonly #samplesPerStep: number;
  readonly #tokensPerSample: number;
  readonly #stallChance: number;
  readonly #stepsPerEpoch: number;
  readonly #checkpointEveryMs: number;
  #phase: Phase = "step";
  #leftMs = 0;
  #workMs = 0;
  #tookMs = 0;
  #core = 1;
  #steps = 0;
  #sinceCheckpointMs = 0;

  constructor(context: WorkContext, { warm }: WorkloadOptions) {
    const { random } = context;
    this.#context = context;
    this.#loading = new MemoryLoader(
      context.memoryBytes * random.between(0.55, 0.93),
      random.between(5_000, 14_000),
      warm,
    );
    this.#stepMs = random.between(120, 700);
    this.#samplesPerStep = 2 ** (4 + random.below(4));
    this.#tokensPerSample = 2 ** (10 + random.below(3));
    this.#stallChance = random.between(0.005, 0.02);
    this.#stepsPerEpoch = Math.round(random.between(120_000, 300_000) / this.#stepMs);
    this.#checkpointEveryMs = random.between(90_000, 240_000);
  }

  advance(stepMs: number, pace: number, _clockMs: number, demand: Demand): void {
    if (this.#loading.advance(stepMs, demand)) return;
    this.#sinceCheckpointMs += stepMs;
    if (this.#phase === "step") this.#step(stepMs, pace, demand);
    else this.#between(stepMs, demand);
  }

  #step(stepMs: number, pace: number, demand: Demand): void {
    this.#workMs += stepMs * pace;
    this.#tookMs += stepMs;
    const into = this.#workMs / this.#stepMs;
    const optimiser = into > 1 - optimiserShare;
    apply(
      demand,
      optimiser ? kernels.elementwise : kernels.train,
      optimiser ? 0.9 : 0.985,
      this.#core,
    );
    if (into >= 1) this.#ended(pace);
  }

  #ended(pace: number): void {
    const { random, tally, speed } = this.#context;
    // The step ended within the last slice; the rest of the slice belongs to the next step.
    this.#workMs -= this.#stepMs;
    const restMs = this.#workMs / pace;
    tally.steps.observe((this.#tookMs - restMs) / 1_000);
    this.#tookMs = restMs;
    this.#steps += 1;
    const samples = Math.max(1, Math.round(this.#samplesPerStep * speed));
    tally.samples.training += samples;
    tally.tokens.training += samples * this.#tokensPerSample;
    this.#core = random.between(0.96, 1.04);
    if (this.#steps >= this.#stepsPerEpoch) {
      this.#steps = 0;
      this.#pause("evaluate", random.between(5_000, 10_000));
    } else if (this.#sinceCheckpointMs >= this.#checkpointEveryMs) {
      this.#sinceCheckpointMs = 0;
      this.#pause("checkpoint", random.between(2_500, 6_000));
    } else if (random.chance(this.#stallChance)) this.#pause("stall", random.between(300, 1_400));
  }

  #pause(phase: Phase, forMs: number): void {
    this.#phase = phase;
    this.#leftMs = forMs;
  }

  #between(stepMs: number, demand: Demand): void {
    if (this.#phase === "evaluate") apply(demand, kernels.infer_heavy, evaluationBusy);
    else {
      apply(demand, kernels.idle, 0);
      if (this.#phase === "checkpoint") demand.transmit = 0.45;
      // A wait for data counts towards the duration of the waiting step.
      else this.#tookMs += stepMs;
    }
    this.#leftMs -= stepMs;
    if (this.#leftMs <= 0) this.#phase = "step";
  }
}
