// All GPUs: assigns requests and batch jobs to them and tracks their state. Requests are packed onto as few GPUs as can serve
// them well, so that the others become idle and are released. Time and randomness are arguments.

import { BusyWindow } from "./busy.ts";
import { Engine, type EngineLimits, type Watcher } from "./engine.ts";
import type { Sequence } from "./sequence.ts";
import { type BatchOrder, type BatchState, Training, TRAINING_SHARE } from "./training.ts";

export interface FleetSettings extends EngineLimits {
  readonly gpus: number;
  /** Number of requests on a GPU before the next GPU is used. */
  readonly packTo: number;
  /** Maximum number of GPUs for batch jobs, so that some remain for requests. */
  readonly batchGpus: number;
  /** Seconds without a request after which a GPU frees the model's memory. */
  readonly unloadSeconds: number;
}

/** The defaults. */
export const STANDARD_FLEET: FleetSettings = {
  gpus: 8,
  slots: 16,
  kvTokens: 16_384,
  packTo: 4,
  batchGpus: 4,
  unloadSeconds: 60,
};

export interface GpuLoad {
  readonly gpu: number;
  readonly workload: "inference" | "training" | "idle";
  readonly busy: number;
  readonly memoryBytes: number;
}

const MEMORY_BYTES = { context: 5e8, model: 6e10, training: 6.8e10 };

export class Fleet {
  readonly engines: readonly Engine[];
  readonly #settings: FleetSettings;
  readonly #random: () => number;
  readonly #training = new Map<number, Training>();
  readonly #trainingBusy: readonly BusyWindow[];
  #waiting: BatchOrder[] = [];
  /** Completed steps of batch jobs since the start, by GPU. */
  readonly trainingSteps: number[];

  constructor(settings: FleetSettings, watcher: Watcher, random: () => number) {
    this.#settings = settings;
    this.#random = random;
    const indexes = Array.from({ length: settings.gpus }, (_, index) => index);
    this.engines = indexes.map((index) => new Engine(index, settings, watcher));
    this.#trainingBusy = indexes.map(() => new BusyWindow());
    this.trainingSteps = indexes.map(() => 0);
  }

  /** Assigns the request to a GPU and returns its engine. */
  submit(sequence: Sequence, prompt: string, nowMs: number): Engine {
    const engine = this.#engineFor();
    engine.submit(sequence, prompt, nowMs);
    return engine;
  }

  /** Repeating an id has no effect: it is the same job. */
  order(order: BatchOrder, nowMs: number): void {
    const known = [...this.#training.values()].some((one) => one.order.id === order.id);
    if (known || this.#waiting.some((one) => one.id === order.id)) return;
    this.#waiting.push(order);
    this.advance(nowMs);
  }

  /** Undefined for a job that is unknown or done. */
  batchState(id: string): Exclude<BatchState, "done"> | undefined {
    if (this.#waiting.some((order) => order.id === id)) return "waiting";
    const running = [...this.#training.values()].some((one) => one.order.id === id);
    return running ? "running" : undefined;
  }

  get batchWaiting(): number {
    return this.#waiting.length;
  }

  training(gpu: number): Training | undefined {
    return this.#training.get(gpu);
  }

  setSlowdown(factor: number): void {
    for (const engine of this.engines) engine.slowdown = factor;
  }

  /** Completes all work up to `nowMs`; returns the batch jobs that ended. */
  advance(nowMs: number): readonly Training[] {
    for (const engine of this.engines) engine.advance(nowMs);
    const ended: Training[] = [];
    for (const [gpu, training] of this.#training) {
      this.trainingSteps[gpu] =
        (this.trainingSteps[gpu] ?? 0) + training.advance(nowMs, this.#random);
      if (training.endsMs > nowMs) continue;
      this.#trainingBusy[gpu]?.add(training.startedMs, training.endsMs, TRAINING_SHARE);
      this.#training.delete(gpu);
      ended.push(training);
    }
    this.#place(nowMs);
    return ended;
  }

  loads(nowMs: number): GpuLoad[] {
    return this.engines.map((engine) => {
      const gpu = engine.index;
      const training = this.#training.get(gpu);
      const current = training && {
        fromMs: training.startedMs,
        toMs: training.endsMs,
        share: TRAINING_SHARE,
      };
      const trainingBusy = this.#trainingBusy[gpu]?.ratio(nowMs, current) ?? 0;
      const busy = Math.min(1, trainingBusy + engine.busy(nowMs));
      const memoryBytes = training ? MEMORY_BYTES.training : this.#servingBytes(engine, nowMs);
      if (training) return { gpu, workload: "training", busy, memoryBytes };
      return { gpu, workload: busy > 0 ? "inference" : "idle", busy, memoryBytes };
    });
  }

  #servingBytes(engine: Engine, nowMs: number): number {
    const { lastUsedMs } = engine;
    const isLoaded =
      engine.running > 0 ||
      (lastUsedMs !== undefined && nowMs - lastUsedMs < this.#settings.unloadSeconds * 1000);
    return isLoaded ? MEMORY_BYTES.model : MEMORY_BYTES.context;
  }

  #engineFor(): Engine {
    const open = this.engines.filter((engine) => !this.#training.has(engine.index));
    const packed = open.find((engine) => held(engine) < this.#settings.packTo);
    const [fewest] = open.toSorted((left, right) => held(left) - held(right));
    const chosen = packed ?? fewest;
    if (chosen === undefined) throw new Error("BUG: batch jobs hold every GPU");
    return chosen;
  }

  #place(nowMs: number): void {
    this.#waiting = this.#waiting.filter((order) => {
      if (this.#training.size >= this.#settings.batchGpus) return true;
      const free = this.engines.filter(
        (engine) => !this.#training.has(engine.index) && held(engine) === 0,
      );
      // From the far end, since requests are packed from the near one.
      const chosen = free.find((engine) => engine.index === order.gpu) ?? free.at(-1);
      if (chosen === undefined) return true;
      this.#training.set(chosen.index, new Training(order, chosen.index, nowMs));
      return false;
    });
  }
}

function held(engine: Engine): number {
  return engine.running + engine.waiting;
}
