/** Reads and validates a pipeline file: named stages, their commands, and their dependencies. Runs nothing. */
import type { Env } from "../../config/secrets.ts";
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { loadFile } from "../../config/file.ts";
import { GpulseError } from "../../base/error.ts";
import { streamEntries } from "../../pipeline/tags/options.ts";

const urls = (what: string) =>
  v.pipe(
    v.union([text(what), v.array(text(what), `a list of ${what}s`)], `${what}, or a list of them`),
    v.transform((given) => (typeof given === "string" ? [given] : given)),
  );
const plain = v.union([v.string(), v.number(), v.boolean()], "text, a number, true or false");

/** The keys allowed for each kind of stage. The first one determines the kind. */
const keysOf = {
  upload: ["upload", "to"],
  replay: ["replay", "to", "speed", "loop", "start", "end", "now", "flags", "stream"],
  pipe: ["from", "to", "until_idle", "stream"],
  analyze: ["analyze", "input", "output", "flags"],
} as const;
export type StageKind = keyof typeof keysOf;

const streamKeys = [...Object.keys(streamEntries), "checkpoint", "checkpoint_frames"];

const optionalStream = {
  ...streamEntries,
  thresholds: v.optional(streamEntries.thresholds.wrapped),
  tags: v.optional(streamEntries.tags.wrapped),
  columns: v.optional(streamEntries.columns.wrapped),
  windows: v.optional(streamEntries.windows.wrapped),
};

const stageSchema = v.strictObject({
  upload: v.optional(text("a file")),
  replay: v.optional(text("a file, or a source")),
  from: v.optional(urls("a source")),
  analyze: v.optional(urls("an analysis")),
  to: v.optional(urls("a sink")),
  input: v.optional(text("where the lake is")),
  output: v.optional(text("where results go")),
  speed: v.optional(
    v.pipe(v.union([v.number(), v.literal("max")], "a number, or max"), v.transform(String)),
  ),
  loop: v.optional(flag()),
  now: v.optional(flag()),
  start: v.optional(text("a time")),
  end: v.optional(text("a time")),
  until_idle: v.optional(
    v.pipe(
      durationMs(10, 31_536_000_000),
      v.transform((ms) => `${ms}ms`),
    ),
  ),
  checkpoint: v.optional(
    v.pipe(
      durationMs(10, 3_600_000),
      v.transform((ms) => `${ms}ms`),
    ),
  ),
  checkpoint_frames: v.optional(v.pipe(wholeNumber(1, 10_000_000), v.transform(String))),
  flags: v.optional(v.record(v.string(), plain)),
  after: v.optional(v.array(text("the name of a stage"), "a list of stages")),
  ...optionalStream,
});

const pipelineSchema = v.strictObject({
  name: v.optional(text("a name")),
  stages: v.record(
    v.pipe(
      v.string(),
      v.regex(/^[a-z][a-z0-9-]{0,40}$/, "a name in small letters, digits and dashes"),
    ),
    stageSchema,
  ),
});

export type StageInput = v.InferOutput<typeof stageSchema>;

export interface Stage {
  readonly name: string;
  readonly kind: StageKind;
  readonly given: StageInput;
  readonly after: readonly string[];
}

export interface PipelineFile {
  readonly name: string;
  readonly stages: readonly Stage[];
}

/** @throws GpulseError with the file, the stage and the error. */
export async function loadPipeline(file: string, env: Env): Promise<PipelineFile> {
  const { name, stages: given } = await loadFile(file, pipelineSchema, env);
  const wrong = (sentence: string): GpulseError =>
    new GpulseError("CONFIG_WRONG_VALUE", `${file}: ${sentence}`);
  const names = Object.keys(given);
  if (names.length === 0) throw wrong("there are no stages.");
  const stages = Object.entries(given).map(([stage, what], index): Stage => {
    const kind = kindOf(stage, what, wrong);
    checkKeys(stage, kind, what, wrong);
    // By default an analysis depends on all earlier stages, and other stages on none.
    const after = what.after ?? (kind === "analyze" ? names.slice(0, index) : []);
    const unknown = after.find((other) => !names.includes(other));
    if (unknown !== undefined)
      throw wrong(
        `stage "${stage}" waits for "${unknown}", which does not exist. Stages: ${names.join(", ")}.`,
      );
    return { name: stage, kind, given: what, after };
  });
  const circle = circleIn(stages);
  if (circle !== undefined) throw wrong(`stages wait for each other: ${circle.join(" → ")}.`);
  return { name: name ?? file, stages };
}

function kindOf(stage: string, given: StageInput, wrong: (sentence: string) => Error): StageKind {
  const kinds = (Object.keys(keysOf) as StageKind[]).filter(
    (kind) => given[keysOf[kind][0]] !== undefined,
  );
  const [kind, other] = kinds;
  if (kind === undefined)
    throw wrong(`stage "${stage}" has no action: add upload, replay, from or analyze.`);
  if (other !== undefined)
    throw wrong(
      `stage "${stage}" is both ${keysOf[kind][0]} and ${keysOf[other][0]}: make two stages of it.`,
    );
  if (kind !== "analyze" && given.to === undefined)
    throw wrong(`stage "${stage}" has no target: add to.`);
  return kind;
}

function checkKeys(
  stage: string,
  kind: StageKind,
  given: StageInput,
  wrong: (sentence: string) => Error,
): void {
  const own: readonly string[] = keysOf[kind];
  const allowed = new Set([...own, ...(own.includes("stream") ? streamKeys : []), "after"]);
  const stray = Object.keys(given).find((key) => !allowed.has(key));
  if (stray === undefined) return;
  const knows = [...allowed].filter((key) => key !== "stream").join(", ");
  throw wrong(`stage "${stage}": "${stray}" does not go with ${own[0]}. It takes: ${knows}.`);
}

function circleIn(stages: readonly Stage[]): readonly string[] | undefined {
  const after = new Map(stages.map((stage) => [stage.name, stage.after]));
  const cleared = new Set<string>();
  const walk = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (cleared.has(name)) return undefined;
    for (const other of after.get(name) ?? []) {
      const found = walk(other, [...path, name]);
      if (found !== undefined) return found;
    }
    cleared.add(name);
    return undefined;
  };
  for (const { name } of stages) {
    const found = walk(name, []);
    if (found !== undefined) return found;
  }
  return undefined;
}
