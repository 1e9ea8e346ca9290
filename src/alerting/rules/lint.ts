/** Valid but probably unintended content of rule files. */
import type { RuleGroup } from "./types.ts";

/** Finds rules with the same name and labels, whose series would collide. */
export function duplicateRules(groups: readonly RuleGroup[]): readonly string[] {
  const seen = new Map<string, string>();
  const found: string[] = [];
  for (const { name: group, rules } of groups)
    for (const { kind, name, labels } of rules) {
      const sorted = Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1));
      const key = JSON.stringify([kind, name, sorted]);
      const first = seen.get(key);
      if (first === undefined) seen.set(key, group);
      else
        found.push(
          `the rule "${name}" is in group "${first}" and again in "${group}" with the same labels.`,
        );
    }
  return found;
}
