/** label_replace and label_join: new labels from existing ones. Values do not change. */
import type { RE2JS } from "re2js";
import { labelValue } from "../../../model/labels.ts";
import { isTooCostly, longestPattern } from "../../../storage/embedded/index/pattern.ts";
import { executionError } from "../../errors.ts";
import { withLabel } from "../../labels.ts";
import { compileRegex } from "../../matcher.ts";
import { isLabelName } from "../../quote.ts";
import { eachSeries, type EvalScope } from "../scope.ts";
import { mergeEqual, type StepSeries } from "../value.ts";

/**
 * The cost of matching one character with a regular expression, in samples: a constant, plus a share of the program
 * size.
 */
const samplesPerLetter = 16;
const partsPerSample = 8;

type Load = () => Promise<readonly StepSeries[]>;

export async function labelReplace(
  args: readonly string[],
  load: Load,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const [target = "", replacement = "", source = "", pattern = ""] = args;
  const regex = compile(pattern);
  if (!isLabelName(target))
    throw executionError(`invalid destination label name in label_replace(): ${target}`);
  const costPerLetter = samplesPerLetter + regex.programSize() / partsPerSample;
  const changed = new Map<string, string | undefined>();
  const out: StepSeries[] = [];
  for (const one of await load()) {
    const from = labelValue(one.labels, source) ?? "";
    if (scope.run.isDue(from.length * costPerLetter)) await scope.run.breathe();
    if (isTooCostly(regex, from))
      throw executionError(
        "the regular expression of label_replace() takes too long on these labels",
      );
    if (!changed.has(from)) changed.set(from, expand(regex, from, replacement, scope));
    const value = changed.get(from);
    out.push(value === undefined ? one : relabelled(one, target, value));
  }
  return mergeEqual(out);
}

export async function labelJoin(
  args: readonly string[],
  load: Load,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const [target = "", separator = "", ...sources] = args;
  for (const source of sources) {
    if (!isLabelName(source))
      throw executionError(`invalid source label name in label_join(): ${source}`);
  }
  if (!isLabelName(target))
    throw executionError(`invalid destination label name in label_join(): ${target}`);
  const out: StepSeries[] = [];
  await eachSeries(scope, await load(), (one) => {
    const parts = sources.map((source) => labelValue(one.labels, source) ?? "");
    const between = separator.length * Math.max(0, parts.length - 1);
    scope.run.makes(parts.reduce((sum, part) => sum + part.length, between));
    out.push(relabelled(one, target, parts.join(separator)));
  });
  return mergeEqual(out);
}

/** A name that is set explicitly stays. */
function relabelled(one: StepSeries, name: string, value: string): StepSeries {
  const dropName = name === "__name__" ? false : one.dropName;
  return { ...one, dropName, labels: withLabel(one.labels, name, value) };
}

function compile(pattern: string): RE2JS {
  if (pattern.length > longestPattern)
    throw executionError(`a pattern of label_replace() has at most ${longestPattern} letters`);
  try {
    return compileRegex(pattern);
  } catch (cause) {
    throw executionError(
      `invalid regular expression in label_replace(): ${pattern}${cause === undefined ? "" : ""}`,
    );
  }
}

/** Fills $1, ${1}, $name and ${name} into the replacement; returns undefined if the regex does not match. */
function expand(
  regex: RE2JS,
  text: string,
  replacement: string,
  { run }: EvalScope,
): string | undefined {
  const matcher = regex.matcher(text);
  if (!matcher.find()) return undefined;
  const names = regex.namedGroups();
  // The length is counted during the replacement, because a short pattern with many references could produce a huge
  // string.
  let letters = 0;
  const made = replacement.replace(
    /\$\$|\$\{(\w+)\}|\$(\w+)/g,
    (whole, braced?: string, bare?: string) => {
      if (whole === "$$") return "$";
      const reference = braced ?? bare ?? "";
      const group = /^\d+$/.test(reference) ? Number(reference) : names[reference];
      if (group === undefined || group > regex.groupCount()) return "";
      const found = matcher.group(group) ?? "";
      letters += found.length;
      if (letters > run.maxLabelLetters) run.makes(letters);
      return found;
    },
  );
  run.makes(made.length);
  return made;
}
