/**
 * One simulated machine in virtual time: its frames after the pipeline's transforms, and the poller's frames while its driver
 * hangs.
 */
import * as v from "valibot";
import { type Tier, tiers } from "../src/model/catalogue/index.ts";
import type { Frame } from "../src/model/frame.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { SelfFrames } from "../src/model/self-frames.ts";
import { collectSelf } from "../src/pipeline/self.ts";
import { SourceDownFrames } from "../src/pipeline/source-down.ts";
import { newSourceState, tierState } from "../src/pipeline/source-state.ts";
import { createDerive } from "../src/pipeline/transforms/derive.ts";
import { Emitter } from "../src/sources/sim/emit/emitter.ts";
import { SimFleet } from "../src/sources/sim/fleet/fleet.ts";
import { scenarioSchema } from "../src/sources/sim/scenario/schema.ts";
import type { PlannedFault } from "./detect-plan.ts";

export const startMs = Date.UTC(2026, 0, 5);
export const secondMs = 1_000;
/** The pipeline's limit: after this long no frame of a source is fresh. */
export const freshMs = 5_000;

const jobs = [
  { kind: "training", share: 3, minutes: [4, 30] },
  { kind: "inference", share: 3, minutes: [5, 40], level: [0.25, 0.5] },
  { kind: "batch", share: 1, minutes: [3, 15] },
  { kind: "inference", share: 1, minutes: [5, 20], level: [0.02, 0.12] },
];

export class Host {
  readonly name: string;
  readonly fleet: SimFleet;
  readonly #emitter: Emitter;
  readonly #derive = createDerive();
  readonly #silence: SourceDownFrames;
  readonly #state = newSourceState("sim", tiers);
  readonly #self = new SelfFrames();
  #answeredMs = startMs;

  constructor(
    name: string,
    models: readonly string[],
    seed: number,
    faults: readonly PlannedFault[],
  ) {
    this.name = name;
    const scenario = v.parse(scenarioSchema, {
      ambient: 27,
      fleet: models.map((model) => ({ model, count: 1 })),
      queue: { users: Math.round((11 * 8) / Math.min(8, models.length)), jobs },
      faults: faults.map(({ fault, gpu, atMs, forMs, amount }) => ({
        fault,
        gpu: gpu < 0 ? "all" : gpu,
        at: `${atMs}ms`,
        for: `${forMs}ms`,
        ...(amount === undefined ? {} : { amount }),
      })),
    });
    this.fleet = new SimFleet(scenario, { seed, gpus: models.length, model: undefined }, startMs);
    this.#emitter = new Emitter(this.fleet, name);
    this.#silence = new SourceDownFrames(name);
  }

  /** The frames of an instant, each with its schedule; for a hanging source, the poller's frames about it. */
  at(elapsedMs: number): readonly (readonly [Tier, Frame])[] {
    this.fleet.advanceTo(elapsedMs);
    const timeMs = startMs + elapsedMs;
    const hangs = this.fleet.hangsForMs(elapsedMs) > 0;
    for (const tier of tiers) tierState(this.#state, tier).success = !hangs;
    if (hangs) {
      if (timeMs - this.#answeredMs <= freshMs) return [];
      return [["fast", this.#derived(this.#silence.at(timeMs, this.fleet.devices), "fast")]];
    }
    this.#answeredMs = timeMs;
    const every = tierIntervals(secondMs);
    return (["static", "slow", "fast"] as const)
      .filter((tier) => elapsedMs % every[tier] === 0)
      .map((tier) => [
        tier,
        this.#derived(
          this.#emitter.frame(tier, timeMs, (virtualMs) => virtualMs),
          tier,
        ),
      ]);
  }

  selfFrame(timeMs: number): Frame {
    return this.#self.at(timeMs, [
      (put, nowMs) =>
        collectSelf(put, nowMs, {
          version: "0",
          nodeVersion: "0",
          states: [this.#state],
          outlets: [],
          served: [],
          process: { cpuSeconds: 0, residentBytes: 0, startTimeSeconds: 0, openFiles: undefined },
        }),
    ]);
  }

  #derived(frame: Frame, tier: Tier): Frame {
    const { devices } = this.fleet;
    return this.#derive({ frame, source: "sim", tier, freshForMs: freshMs, devices }).frame;
  }
}
