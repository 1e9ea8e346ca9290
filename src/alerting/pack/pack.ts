/** The default rules as the hub runs them: a user's rule of the same name replaces the default one. */
import { parseRuleFile } from "../rules/file.ts";
import type { Rule, RuleGroup } from "../rules/types.ts";
import { packRuleFiles } from "./files.ts";

/** The origin of the default rules in the API. */
const packOrigin = "gpulse";

const runbookInDocs = "docs/runbook/README.md#";
/** The hub serves its own runbook; links in notifications point there. */
const runbookOnHub = "{{ $externalURL }}/runbook/";

export async function packGroups(own: readonly RuleGroup[] = []): Promise<readonly RuleGroup[]> {
  const replaced = new Set(own.flatMap(({ rules }) => rules.map(({ name }) => name)));
  const groups: RuleGroup[] = [];
  for (const { name, text } of packRuleFiles()) {
    const linked = text.replaceAll(runbookInDocs, runbookOnHub);
    for (const group of await parseRuleFile(linked, `${packOrigin}/${name}`)) {
      const rules = group.rules.filter((rule: Rule) => !replaced.has(rule.name));
      if (rules.length > 0) groups.push({ ...group, rules });
    }
  }
  return groups;
}
