/** One relabeling rule, validated as Prometheus validates it, and compiled once. */
import { type Matcher, RE2JS } from "re2js";
import { didYouMean } from "../../config/closest.ts";
import { formatError, GpulseError } from "../../base/error.ts";

/*
 * Replacement templates as Go's regexp expands them: `$1`, `${1}`, `$name`, `${name}`, `$$` for a dollar. `$1x` refers to the group
 * "1x"; a missing group is empty; a dollar without a name is literal.
 */

type Part = string | number;

interface Template {
  readonly parts: readonly Part[];
  /** True if there is no group in it: the text is literal. */
  readonly isPlain: boolean;
}

const reference = /\$(?:(\$)|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;

function compileTemplate(text: string, regex: RE2JS): Template {
  const names = regex.namedGroups();
  const groupCount = regex.groupCount();
  const parts: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(reference)) {
    parts.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) {
      parts.push("$");
      continue;
    }
    const name = match[2] ?? match[3] ?? "";
    // A number with a leading zero is a name.
    const group = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : names[name];
    if (group !== undefined && group <= groupCount) parts.push(group);
  }
  parts.push(text.slice(from));
  const kept = parts.filter((part) => part !== "");
  return { parts: kept, isPlain: kept.every((part) => typeof part === "string") };
}

/** Fills the template with the groups of `matched`, which must have matched. */
export function expand({ parts }: Template, matched: Matcher): string {
  let out = "";
  for (const part of parts) out += typeof part === "string" ? part : (matched.group(part) ?? "");
  return out;
}

const relabelActions = [
  "replace",
  "keep",
  "drop",
  "keepequal",
  "dropequal",
  "hashmod",
  "labelmap",
  "labeldrop",
  "labelkeep",
  "lowercase",
  "uppercase",
] as const;

type RelabelAction = (typeof relabelActions)[number];

/** A rule as configured; missing fields have Prometheus's defaults. */
export interface RelabelInput {
  readonly action?: string | undefined;
  readonly source_labels?: readonly string[] | undefined;
  readonly separator?: string | undefined;
  readonly regex?: string | undefined;
  readonly modulus?: number | undefined;
  readonly target_label?: string | undefined;
  readonly replacement?: string | undefined;
}

export interface RelabelRule {
  readonly action: RelabelAction;
  readonly sourceLabels: readonly string[];
  readonly separator: string;
  /** The original pattern; `regex` is the same, anchored at both ends. */
  readonly pattern: string;
  readonly regex: RE2JS;
  readonly modulus: number;
  readonly targetLabel: string;
  readonly target: Template;
  readonly replacement: string;
  readonly filled: Template;
}

const defaults = { separator: ";", regex: "(.*)", replacement: "$1" };

const needsTarget: readonly RelabelAction[] = [
  "replace",
  "hashmod",
  "lowercase",
  "uppercase",
  "keepequal",
  "dropequal",
];

/**
 * @param legacyNames label names are limited to letters, digits and underscores, as before Prometheus 3
 * @throws GpulseError with the fix
 */
export function compileRule(given: RelabelInput, legacyNames = false): RelabelRule {
  const action = readAction(given.action ?? "replace");
  const rule = {
    action,
    sourceLabels: given.source_labels ?? [],
    separator: given.separator ?? defaults.separator,
    pattern: given.regex ?? defaults.regex,
    modulus: given.modulus ?? 0,
    targetLabel: given.target_label ?? "",
    replacement: given.replacement ?? defaults.replacement,
  };
  const wrong = (legacyNames ? legacyProblemOf(rule) : undefined) ?? problemOf(rule, given);
  if (wrong !== undefined) throw new GpulseError("CONFIG_WRONG_VALUE", wrong);
  const regex = compilePattern(rule.pattern);
  return {
    ...rule,
    regex,
    target: compileTemplate(rule.targetLabel, regex),
    filled: compileTemplate(rule.replacement, regex),
  };
}

/** Any text except the empty one: label names are UTF-8 since Prometheus 3. */
export const isLabelName = (name: string): boolean => name !== "" && !/[\uD800-\uDFFF]/u.test(name);

const legacyName = /^[a-zA-Z_]\w*$/;
/** A name that may contain references to groups of the regex. */
const legacyTemplate = /^(?:(?:[a-zA-Z_]|\$(?:\{\w+\}|\w+))+\w*)+$/;

export const isLegacyLabelName = (name: string): boolean => legacyName.test(name);

function legacyProblemOf({
  action,
  sourceLabels,
  targetLabel,
  replacement,
}: Omit<RelabelRule, "regex" | "target" | "filled">): string | undefined {
  const bad = sourceLabels.find((name) => !isLegacyLabelName(name));
  const isTemplate = action === "replace" && targetLabel.includes("$");
  const isTarget = (isTemplate ? legacyTemplate : legacyName).test(targetLabel);
  if (bad !== undefined)
    return `${JSON.stringify(bad)} in source_labels is not a valid label name.`;
  if (needsTarget.includes(action) && targetLabel !== "" && !isTarget)
    return `${JSON.stringify(targetLabel)} is not a valid target_label.`;
  if (action === "labelmap" && !legacyTemplate.test(replacement))
    return `${JSON.stringify(replacement)} is not a valid replacement for labelmap.`;
  return undefined;
}

function readAction(given: string): RelabelAction {
  const action = relabelActions.find((known) => known === given.toLowerCase());
  if (action !== undefined) return action;
  throw new GpulseError(
    "CONFIG_WRONG_VALUE",
    `"${given}" is not a relabelling action.${didYouMean(given, relabelActions)} Actions: ${relabelActions.join(", ")}.`,
  );
}

function problemOf(
  rule: Omit<RelabelRule, "regex" | "target" | "filled">,
  given: RelabelInput,
): string | undefined {
  const { action, targetLabel } = rule;
  const bad = rule.sourceLabels.find((name) => !isLabelName(name));
  if (bad !== undefined) return `${JSON.stringify(bad)} in source_labels is not a label name.`;
  if (action === "hashmod" && rule.modulus === 0) return "hashmod needs a modulus of at least 1.";
  if (needsTarget.includes(action) && targetLabel === "") return `${action} needs a target_label.`;
  if (targetLabel !== "" && !isLabelName(targetLabel)) return "target_label is not valid text.";
  if (action === "labelmap" && !isLabelName(rule.replacement))
    return "labelmap needs a replacement that can be a label name.";
  const changed = (["regex", "separator", "replacement"] as const).filter(
    (key) => given[key] !== undefined && given[key] !== defaults[key],
  );
  const extra: string[] = rule.modulus === 0 ? changed : [...changed, "modulus"];
  if (action === "lowercase" || action === "uppercase")
    return extra.includes("replacement") ? `${action} takes no replacement.` : undefined;
  if (action === "keepequal" || action === "dropequal")
    return extra.length === 0
      ? undefined
      : `${action} takes only source_labels and target_label, not ${extra.join(", ")}.`;
  if (action === "labeldrop" || action === "labelkeep") {
    const more = extra.filter((key) => key !== "regex");
    if (given.source_labels !== undefined) more.push("source_labels");
    if (targetLabel !== "") more.push("target_label");
    return more.length === 0 ? undefined : `${action} takes only a regex, not ${more.join(", ")}.`;
  }
  return undefined;
}

/** Anchored, and a dot matches line breaks too, as in Prometheus 3. */
function compilePattern(pattern: string): RE2JS {
  try {
    return RE2JS.compile(`^(?s:${pattern})$`);
  } catch (thrown) {
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `the regex ${JSON.stringify(pattern)} is not valid: ${formatError(thrown)}`,
      { cause: thrown },
    );
  }
}
