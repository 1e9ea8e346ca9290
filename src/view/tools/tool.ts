/** One tool: name, description, input schema and function. Used by MCP and by `gpulse ask`. */
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { resolveTimeMs } from "../../config/time.ts";
import type { ToolAnswer } from "./answer.ts";
import type { HubReader } from "./hub-reader.ts";

export interface ToolContext {
  readonly hub: HubReader;
  readonly nowMs: number;
}

interface ToolDeclaration<Schema extends v.GenericSchema> {
  readonly name: string;
  /** A few words, for lists. */
  readonly title: string;
  /** The description from which a model selects the tool. */
  readonly description: string;
  readonly input: Schema;
  /** Arguments for the call in the reference page and in the tests. */
  readonly example: v.InferInput<Schema> & Readonly<Record<string, unknown>>;
  run(input: v.InferOutput<Schema>, context: ToolContext): Promise<ToolAnswer>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: v.GenericSchema;
  readonly example: Readonly<Record<string, unknown>>;
  /** @throws ToolInputError before any request to the hub */
  call(input: unknown, context: ToolContext): Promise<ToolAnswer>;
}

/** The arguments are invalid; the message describes what the tool accepts. */
export class ToolInputError extends Error {}

export function defineTool<Schema extends v.GenericSchema>(
  declaration: ToolDeclaration<Schema>,
): Tool {
  const { name, title, description, input, example } = declaration;
  return {
    name,
    title,
    description,
    input,
    example,
    call: async (given, context) => {
      const checked = checkValue(input, given ?? {});
      if (!checked.ok)
        throw new ToolInputError(
          `${name}: ${checked.problems
            .slice(0, 3)
            .map(({ sentence }) => sentence)
            .join(" ")} Call it as in ${JSON.stringify(example)}.`,
        );
      return declaration.run(checked.value, context);
    },
  };
}

const mostRows = 100;
const usualRows = 20;

/** Names of hosts, GPUs, jobs and the like, as written by the caller. */
export const text = (description: string) =>
  v.optional(
    v.pipe(
      v.string("text"),
      v.minLength(1, "text that is not empty"),
      v.maxLength(300, "text of 300 letters at most"),
      v.description(description),
    ),
  );

export const whole = (description: string, least: number, most: number, otherwise: number) =>
  v.optional(
    v.pipe(
      v.number(`a whole number from ${least} to ${most}`),
      v.integer(`a whole number from ${least} to ${most}`),
      v.minValue(least, `a whole number from ${least} to ${most}`),
      v.maxValue(most, `a whole number from ${least} to ${most}`),
      v.description(description),
    ),
    otherwise,
  );

export const oneOf = <const Words extends readonly string[]>(
  description: string,
  words: Words,
  otherwise: Words[number],
) =>
  v.optional(
    v.pipe(v.picklist(words, `one of ${words.join(", ")}`), v.description(description)),
    otherwise,
  );

/** Paging of a list. */
export const paging = {
  limit: whole("Rows to return.", 1, mostRows, usualRows),
  offset: whole("Rows to skip, from a previous response.", 0, 100_000, 0),
};

/** Paging of the lines of one document. */
export const linePaging = {
  limit: whole("Lines to return.", 1, mostRows, mostRows),
  offset: paging.offset,
};

export const timeHint =
  "RFC 3339 such as 2026-11-01T12:00:00Z, a day, Unix seconds, or how long ago such as 2h";

/** @throws GpulseError that names the argument */
export function timeOf(argument: string, given: string, nowMs: number): number {
  const ms = resolveTimeMs(given, nowMs);
  if (ms === undefined) throw new GpulseError("USAGE", `${argument} takes ${timeHint}.`);
  return ms;
}
