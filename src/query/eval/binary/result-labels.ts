/** The labels a pair of series answers with. */
import { isComparison, type Binary, type VectorMatching } from "../../ast.ts";
import { labelValue, type LabelSet } from "../../../model/labels.ts";
import { dropAll, dropMetadata, keepOnly, withLabel } from "../../labels.ts";
import type { EvalScope } from "../scope.ts";

/** The labels both sides were matched by. */
export function matchLabels(labels: LabelSet, matching: VectorMatching): LabelSet {
  if (matching.on) return keepOnly(labels, new Set(matching.labels));
  return dropAll(labels, new Set(["__name__", ...matching.labels]));
}

/** The "many" side's labels, with those group_left or group_right takes from the "one" side. */
export function resultLabels(
  many: LabelSet,
  one: LabelSet,
  expr: Binary,
  matching: VectorMatching,
  scope: EvalScope,
): LabelSet {
  const losesName = !isComparison(expr.op) || (expr.bool && !scope.run.options.delayedNameRemoval);
  let labels = losesName ? dropMetadata(many) : many;
  if (matching.card === "one-to-one") {
    const names = new Set(matching.labels);
    labels = matching.on ? keepOnly(labels, names) : dropAll(labels, names);
  }
  for (const name of matching.include)
    labels = withLabel(labels, name, labelValue(one, name) ?? "");
  return labels;
}
