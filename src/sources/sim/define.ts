/** The source `sim:`, a fleet of simulated GPUs: every number follows from a model's constants, a workload and a seed. */
import * as v from "valibot";
import { didYouMean } from "../../config/closest.ts";
import { durationMs, text, wholeNumber } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { defineSource } from "../source.ts";
import type { ReportedLoad } from "./follow/reported-load.ts";

const hourMs = 3_600_000;
const speedTakes = "a number from 0.01 to 100000, or max to stream as fast as it can";
const followTakes = "an address such as http://127.0.0.1:8000/load, without user and password";
const startTakes = "a time such as 2026-01-01T00:00:00Z";

export const sim = defineSource({
  name: "sim",
  summary:
    "Simulated GPUs: real models, physics instead of noise, workloads, a job queue and faults on request. Labelled simulated everywhere.",
  mainOption: "gpus",
  options: v.strictObject({
    gpus: v.optional(
      v.pipe(
        wholeNumber(1, 100_000),
        v.description("Number of GPUs. Default: those of the scenario, else 8."),
      ),
    ),
    seed: v.optional(
      v.pipe(
        wholeNumber(0, Number.MAX_SAFE_INTEGER),
        v.description(
          "Same seed, same scenario, same virtual time: the same frames, byte for byte.",
        ),
      ),
      1,
    ),
    scenario: v.optional(
      v.pipe(
        text("the name of a scenario, or a .yaml file"),
        v.description("Scenario: default, stress, idle, faults, mixed, mlperf, or your own file."),
      ),
      "default",
    ),
    model: v.optional(
      v.pipe(
        text("the name of a GPU model"),
        v.description(
          "All GPUs of this model instead of the scenario's: H200, H100, MI300X, RTX4090, RX7800XT, RX7700XT.",
        ),
      ),
    ),
    speed: v.optional(
      v.pipe(
        v.union(
          [
            v.literal("max"),
            v.pipe(
              v.union([v.string(), v.number()]),
              v.transform(Number),
              v.check((given) => given >= 0.01 && given <= 100_000, speedTakes),
            ),
          ],
          speedTakes,
        ),
        v.description(
          "Speed of virtual time; frames have the wall clock's time. max streams as fast as possible, in virtual time.",
        ),
      ),
      1,
    ),
    start: v.optional(
      v.pipe(
        text(startTakes),
        v.check((given) => !Number.isNaN(Date.parse(given)), startTakes),
        v.transform((given) => Date.parse(given)),
        v.description("Start of virtual time. Default: the scenario's, else now."),
      ),
    ),
    follow: v.optional(
      v.pipe(
        text(followTakes),
        v.check(isFollowable, followTakes),
        v.description(
          "URL of a service that reports the load of each GPU, queried once a second instead of the scenario's work. See the simulator's guide.",
        ),
      ),
    ),
    duration: v.optional(
      v.pipe(
        durationMs(1_000, 3_650 * 24 * hourMs),
        v.description("How much virtual time to stream; with speed=max only."),
      ),
    ),
    interval: v.optional(
      v.pipe(
        durationMs(50, hourMs),
        v.description("Virtual time between two streamed frames; with speed=max only."),
      ),
      "1s",
    ),
  }),
  examples: [
    { url: "sim:8", description: "eight GPUs of a shared machine" },
    { url: "sim:8?seed=7&speed=60", description: "another eight, at 60 times real time" },
    {
      url: "sim:?scenario=stress",
      description: "RX 7800 XT beside RX 7700 XT under the same stress test",
    },
    {
      url: "sim:4?model=RTX4090&scenario=./my-lab.yaml",
      description: "four cards of one model in your own scenario",
    },
    {
      url: "sim:8?follow=http://127.0.0.1:8000/load",
      description: "eight GPUs with the load reported by a service",
    },
    {
      url: "sim:8?speed=max&start=2026-01-01T00:00:00Z&duration=1h",
      description: "an hour of frames, as fast as possible",
    },
  ],
  auto: false,
  doctor: async ({ gpus, scenario, follow }) => ({
    state: "found",
    says: `Will simulate ${gpus ?? "the"} GPUs of the scenario "${scenario}"${follow === undefined ? "" : ", with the load reported by a service"}.`,
  }),
  create: async (options, context) => {
    const { Emitter } = await import("./emit/emitter.ts");
    const { SimFleet } = await import("./fleet/fleet.ts");
    const { findModel, models } = await import("./models/index.ts");
    const { loadScenario } = await import("./scenario/load.ts");
    const { SimulatedSource, SimulatedStream, VirtualTime } = await import("./source.ts");

    const model = options.model === undefined ? undefined : findModel(options.model);
    if (options.model !== undefined && model === undefined) {
      const keys = models.map(({ key }) => key);
      const near = didYouMean(options.model, keys);
      throw new GpulseError(
        "SOURCE_OPTIONS",
        `The simulator has no model "${options.model}".${near === "" ? ` It has ${keys.join(", ")}.` : near}`,
      );
    }
    if (options.duration !== undefined && options.speed !== "max") {
      throw new GpulseError(
        "SOURCE_OPTIONS",
        'sim: "duration" ends a stream; add speed=max, or leave it out.',
      );
    }
    if (options.follow !== undefined && options.speed === "max") {
      throw new GpulseError(
        "SOURCE_OPTIONS",
        'sim: "follow" queries a service in real time, so it cannot be combined with speed=max; omit one of them.',
      );
    }
    const scenario = loadScenario(options.scenario);
    const createdMs = context.nowMs();
    const startMs = options.start ?? scenario.start ?? Math.floor(createdMs / 1_000) * 1_000;
    const { follow: url, seed, gpus } = options;
    const follower =
      url === undefined
        ? undefined
        : new (await import("./follow/follower.ts")).Follower({ url, ...context });
    const follow =
      follower === undefined
        ? undefined
        : (index: number): ReportedLoad | undefined => follower.of(index);
    const owner = `${context.host}/${context.ordinal ?? 1}`;
    const fleet = new SimFleet(scenario, { seed, owner, gpus, model, follow }, startMs);
    const emitter = new Emitter(fleet, context.host);
    if (options.speed !== "max") {
      return new SimulatedSource(
        fleet,
        emitter,
        new VirtualTime(startMs, createdMs, options.speed),
        options.speed,
        follower,
      );
    }
    return new SimulatedStream(fleet, emitter, {
      fastEveryMs: options.interval,
      slowEveryMs: options.interval * Math.max(1, Math.round(10_000 / options.interval)),
      staticEveryMs: options.interval * Math.max(1, Math.round(300_000 / options.interval)),
      durationMs: options.duration ?? Number.POSITIVE_INFINITY,
    });
  },
});

function isFollowable(given: string): boolean {
  if (!URL.canParse(given)) return false;
  const { protocol, username, password } = new URL(given);
  return /^https?:$/.test(protocol) && username === "" && password === "";
}
