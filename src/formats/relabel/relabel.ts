/** Relabelling as Prometheus does it: rules change a label set one after the other, or drop it. */
import { createHash } from "node:crypto";
import type { LabelSet } from "../../model/labels.ts";
import { LabelBuilder } from "./label-builder.ts";
import { lowerCase, upperCase } from "./letters.ts";
import { isLabelName, type RelabelRule } from "./rule.ts";
import { expand } from "./template.ts";

/** The labels after all rules (sorted, none empty), or undefined where a rule dropped them. */
export function relabel(labels: LabelSet, rules: readonly RelabelRule[]): LabelSet | undefined {
  if (rules.length === 0) return labels;
  const draft = new LabelBuilder(labels);
  for (const rule of rules) if (!apply(rule, draft)) return undefined;
  return draft.labels();
}

/** False: dropped. */
function apply(rule: RelabelRule, draft: LabelBuilder): boolean {
  const { regex, targetLabel } = rule;
  switch (rule.action) {
    case "keep":
      return regex.matches(joined(rule, draft));
    case "drop":
      return !regex.matches(joined(rule, draft));
    case "keepequal":
      return draft.get(targetLabel) === joined(rule, draft);
    case "dropequal":
      return draft.get(targetLabel) !== joined(rule, draft);
    case "replace":
      replace(rule, joined(rule, draft), draft);
      return true;
    case "lowercase":
      draft.set(targetLabel, lowerCase(joined(rule, draft)));
      return true;
    case "uppercase":
      draft.set(targetLabel, upperCase(joined(rule, draft)));
      return true;
    case "hashmod":
      draft.set(targetLabel, String(hashOf(joined(rule, draft)) % BigInt(rule.modulus)));
      return true;
    case "labelmap":
      for (const [name, value] of draft.pairs()) mapName(rule, name, value, draft);
      return true;
    case "labeldrop":
      for (const [name] of draft.pairs()) if (regex.matches(name)) draft.delete(name);
      return true;
    case "labelkeep":
      for (const [name] of draft.pairs()) if (!regex.matches(name)) draft.delete(name);
      return true;
  }
}

function joined({ sourceLabels, separator }: RelabelRule, draft: LabelBuilder): string {
  const [only] = sourceLabels;
  if (only !== undefined && sourceLabels.length === 1) return draft.get(only);
  return sourceLabels.map((name) => draft.get(name)).join(separator);
}

function replace(rule: RelabelRule, text: string, draft: LabelBuilder): void {
  // The defaults copy a label: nothing to match, nothing to fill.
  if (rule.pattern === "(.*)" && rule.replacement === "$1" && rule.target.isPlain) {
    draft.set(rule.targetLabel, text);
    return;
  }
  const matched = rule.regex.matcher(text);
  if (!matched.matches()) return;
  const target = rule.target.isPlain ? rule.targetLabel : expand(rule.target, matched);
  if (isLabelName(target)) draft.set(target, expand(rule.filled, matched));
}

function mapName(
  { regex, filled }: RelabelRule,
  name: string,
  value: string,
  draft: LabelBuilder,
): void {
  const matched = regex.matcher(name);
  if (!matched.matches()) return;
  const target = expand(filled, matched);
  if (target !== "") draft.set(target, value);
}

/** The last eight bytes of the md5, as Prometheus has it since its first version. */
const hashOf = (text: string): bigint => createHash("md5").update(text).digest().readBigUInt64BE(8);
