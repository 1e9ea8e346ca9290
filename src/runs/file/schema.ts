/** Validates the parts of run.json that the program relies on; fields of a newer gpulse are preserved. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { type Run, runVersion } from "../run.ts";

const finite = v.pipe(v.number(), v.finite());
const span = v.tuple([finite, finite]);
const shortText = v.pipe(v.string(), v.maxLength(10_000));

export const runIdPattern = /^[\w-]{1,64}$/;

const schema = v.looseObject({
  format: v.literal("gpulse-run"),
  version: finite,
  id: v.pipe(v.string(), v.regex(runIdPattern)),
  label: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  host: shortText,
  command: v.array(v.string()),
  startedMs: finite,
  endedMs: finite,
  durationSeconds: v.pipe(finite, v.minValue(0)),
  exitCode: v.nullable(v.number()),
  complete: v.boolean(),
  work: v.optional(v.looseObject({ amount: finite, unit: shortText, from: shortText })),
  result: v.optional(
    v.looseObject({
      tool: shortText,
      window: v.optional(span),
      figures: v.array(
        v.looseObject({ name: shortText, value: v.union([finite, shortText]), unit: shortText }),
      ),
    }),
  ),
  phases: v.array(v.looseObject({ name: shortText, startMs: finite, endMs: finite })),
  devices: v.array(
    v.looseObject({
      uuid: shortText,
      index: finite,
      vendor: shortText,
      model: shortText,
      simulated: v.boolean(),
      host: shortText,
      power: v.picklist(["board", "chip", "none"]),
      energy: v.looseObject({
        counterJoules: v.optional(finite),
        integratedJoules: v.optional(finite),
      }),
    }),
  ),
  visible: v.looseObject({
    variables: v.record(v.string(), v.string()),
    hidden: v.array(v.string()),
    parts: v.optional(
      v.array(
        v.looseObject({
          part: shortText,
          state: v.picklist(["seen", "partly", "unseen", "absent"]),
          detail: shortText,
        }),
      ),
    ),
  }),
  samplingMs: v.pipe(finite, v.minValue(1)),
  baselines: v.looseObject({ before: v.optional(span), after: v.optional(span) }),
  overhead: v.looseObject({ cpuSeconds: finite, shareOfCore: finite }),
  verdict: v.looseObject({
    verdict: v.picklist(["same", "changed", "loaded", "unknown"]),
    changes: v.array(v.looseObject({ sentence: shortText })),
    foreign: v.array(v.looseObject({ pid: finite, name: shortText })),
  }),
  hosts: v.array(v.looseObject({ host: shortText })),
  notes: v.array(shortText),
});

/** @throws GpulseError RUN_FILE with the first invalid key. */
export function checkRun(value: unknown, shown: string): Run {
  const version =
    typeof value === "object" && value !== null && "version" in value ? value.version : undefined;
  if (typeof version === "number" && version > runVersion)
    throw new GpulseError(
      "RUN_FILE",
      `${shown} is of run format ${version}, and this gpulse knows up to ${runVersion}: update gpulse.`,
    );
  const checked = v.safeParse(schema, value);
  // Every part in use was validated; the rest is only displayed.
  if (checked.success) return checked.output as unknown as Run;
  const [issue] = checked.issues;
  const at = v.getDotPath(issue);
  throw new GpulseError(
    "RUN_FILE",
    `${shown} has a run.json that is not understood${at === null ? "" : ` at ${at}`}: ${issue.message}.`,
  );
}
