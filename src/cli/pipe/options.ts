/** The options of a pipe besides its sources and sinks: checkpoints, an end, tags. From flags, or from a stage of a pipeline file. */
import type { Env } from "../../config/secrets.ts";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { durationMs, wholeNumber } from "../../config/fields.ts";
import { loadFile } from "../../config/file.ts";
import { GpulseError } from "../../base/error.ts";
import { type StreamRules, streamSchema } from "../../pipeline/tags/options.ts";

const year = 31_536_000_000;

/** By flag name, without the dashes. */
const pipeTuning = {
  checkpoint: v.optional(durationMs(10, 3_600_000), "5s"),
  checkpointFrames: v.optional(wholeNumber(1, 10_000_000), 50_000),
  untilIdle: v.optional(durationMs(10, year)),
  grace: v.optional(durationMs(0, 3_600_000), "10s"),
  for: v.optional(durationMs(1, year)),
};

export interface TuningFlags {
  readonly checkpoint?: string;
  readonly checkpointFrames?: string;
  readonly untilIdle?: string;
  readonly grace?: string;
  readonly for?: string;
}

export interface RuleFlags {
  readonly processing?: string;
  readonly threshold?: readonly string[];
  readonly tag?: readonly string[];
}

export type PipeTuning = v.InferOutput<v.StrictObjectSchema<typeof pipeTuning, undefined>>;

export function parseTuning(flags: TuningFlags): PipeTuning {
  const { checkpoint, checkpointFrames, untilIdle, grace, for: limit } = flags;
  const given = { checkpoint, checkpointFrames, untilIdle, grace, for: limit };
  const checked = checkValue(v.strictObject(pipeTuning), given);
  if (checked.ok) return checked.value;
  const [problem] = checked.problems;
  const flag = String(problem?.path[0]).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new GpulseError(
    "USAGE",
    `--${flag} ${(problem?.sentence ?? "is not understood.").replace(/^"\w+" /, "")}`,
  );
}

/** The rules of the file, overridden by thresholds and tags of the command line. */
export async function loadStreamRules(flags: RuleFlags, env: Env): Promise<StreamRules> {
  const base: StreamRules =
    flags.processing === undefined
      ? v.parse(streamSchema, {})
      : await loadFile(flags.processing, streamSchema, env);
  const thresholds = Object.fromEntries(
    (flags.threshold ?? []).map((pair) => {
      const [tag, limit] = split(pair, "--threshold", "high_power=320, or high_power=off");
      return [tag, limit === "off" ? "off" : Number(limit)];
    }),
  );
  const tags = Object.fromEntries(
    (flags.tag ?? []).map((pair) => split(pair, "--tag", "hot='gpu_temperature > 90'")),
  );
  const checked = checkValue(streamSchema, { thresholds, tags });
  if (!checked.ok) {
    const [problem] = checked.problems;
    const flag = problem?.path[0] === "tags" ? "--tag" : "--threshold";
    throw new GpulseError("USAGE", `${flag}: ${problem?.sentence ?? "not understood."}`);
  }
  return {
    ...base,
    thresholds: { ...base.thresholds, ...checked.value.thresholds },
    tags: { ...base.tags, ...checked.value.tags },
  };
}

function split(pair: string, flag: string, example: string): readonly [string, string] {
  const at = pair.indexOf("=");
  if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  throw new GpulseError("USAGE", `${flag} takes NAME=…, such as ${example}, not "${pair}".`);
}
