/** The YAML schema of a stream's processing: limits, tag rules, columns, windows. */
import * as v from "valibot";
import { durationMs, text, wholeNumber } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import type { Companion } from "../stream/pipe.ts";
import type { Transform } from "../sink.ts";
import { aggregates } from "../windows/pane.ts";
import { WindowAggregator } from "../windows/windows.ts";
import { createColumns } from "./columns.ts";
import { createTags } from "./tags.ts";
import { defaultThresholds, thresholdsOf } from "./thresholds.ts";
import { defaultOutlierOptions } from "./outliers.ts";

const limitTakes = "a number, or off";
const limit = () =>
  v.optional(
    v.pipe(
      v.union(
        [v.number(limitTakes), v.literal("off", limitTakes), v.literal(false, limitTakes)],
        limitTakes,
      ),
      v.transform((given) => (typeof given === "number" ? given : null)),
      v.metadata({ takes: limitTakes }),
    ),
  );

const day = 86_400_000;

export const streamEntries = {
  thresholds: v.optional(
    v.pipe(
      v.strictObject(Object.fromEntries(defaultThresholds.map(({ tag }) => [tag, limit()]))),
      v.description("Thresholds of the default tags; off disables a tag."),
    ),
    {},
  ),
  tags: v.optional(
    v.pipe(
      v.record(
        v.pipe(
          v.string(),
          v.regex(/^[a-z][a-z0-9_]*$/, "a tag of lower-case letters, digits and underscores"),
        ),
        text("an expression"),
      ),
      v.description("Your own tags: name and condition."),
    ),
    {},
  ),
  columns: v.optional(
    v.pipe(
      v.record(v.string(), text("an expression")),
      v.description("Your own columns: name and expression."),
    ),
    {},
  ),
  windows: v.optional(
    v.array(
      v.strictObject({
        columns: v.pipe(
          v.array(text("a column"), "a list of columns"),
          v.minLength(1, "at least one column"),
        ),
        aggregates: v.optional(
          v.array(
            v.picklist(aggregates, `one of ${aggregates.join(", ")}`),
            "a list of aggregates",
          ),
          ["min", "avg", "max"],
        ),
        over: durationMs(1, 31 * day),
        every: v.optional(durationMs(1, 31 * day)),
      }),
      "a list of windows",
    ),
    [],
  ),
  unusual: v.optional(
    v.strictObject({
      columns: v.optional(v.array(text("a column"), "a list of columns"), [
        ...defaultOutlierOptions.columns,
      ]),
      frames: v.optional(wholeNumber(10, 10_000), defaultOutlierOptions.frames),
      score: v.optional(
        v.pipe(v.number("a number"), v.minValue(1, "a number of at least 1")),
        defaultOutlierOptions.score,
      ),
    }),
  ),
};

export const streamSchema = v.strictObject(streamEntries);
export type StreamRules = v.InferOutput<typeof streamSchema>;

export interface StreamProcessing {
  readonly transforms: readonly Transform[];
  readonly companions: readonly Companion[];
}

/** @throws GpulseError with the position of a mistake in an expression. */
export function createProcessing(rules: StreamRules): StreamProcessing {
  const ownColumns = new Set(Object.keys(rules.columns));
  const clash = Object.keys(rules.tags).find((tag) =>
    defaultThresholds.some((one) => one.tag === tag),
  );
  if (clash !== undefined)
    throw new GpulseError(
      "EXPRESSION",
      `"${clash}" is a default tag of gpulse: set its limit under thresholds, or choose another name.`,
    );
  return {
    transforms: [
      ...(ownColumns.size > 0 ? [createColumns(rules.columns)] : []),
      createTags({
        thresholds: thresholdsOf(rules.thresholds as Readonly<Record<string, number | null>>),
        rules: rules.tags,
        ownColumns,
        ...(rules.unusual !== undefined && { unusual: rules.unusual }),
      }),
    ],
    companions: rules.windows.map(
      ({ columns, aggregates: wanted, over, every }) =>
        new WindowAggregator(
          {
            columns,
            aggregates: wanted,
            overMs: over,
            ...(every !== undefined && { everyMs: every }),
          },
          ownColumns,
        ),
    ),
  };
}
