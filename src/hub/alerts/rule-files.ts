/** Loads the rules a hub evaluates: the user's files and the pack that comes with gpulse. Loads all of them, or reports every mistake. */
import { packGroups } from "../../alerting/pack/pack.ts";
import { checkRuleFile } from "../../alerting/rules/file.ts";
import type { RuleGroup } from "../../alerting/rules/types.ts";
import { GpulseError } from "../../base/error.ts";
import { expandGlob } from "../../config/yaml/glob.ts";

export interface LoadedRules {
  readonly groups: readonly RuleGroup[];
  /** Patterns that match no file. */
  readonly unmatched: readonly string[];
  /** Parts of the files without effect, one sentence each. */
  readonly warnings: readonly string[];
}

/** @throws GpulseError RULE_FILE with every mistake in every file, one line each. */
export async function loadRules(
  patterns: readonly string[],
  withPack: boolean,
): Promise<LoadedRules> {
  const files = [...new Set(patterns.flatMap(expandGlob))];
  const checked = await Promise.all(files.map(checkRuleFile));
  const problems = checked.flatMap((one) => one.problems);
  if (problems.length > 0) throw new GpulseError("RULE_FILE", problems.join("\n"));
  const own = checked.flatMap((one) => one.groups);
  return {
    groups: withPack ? [...own, ...(await packGroups(own))] : own,
    unmatched: patterns.filter((pattern) => expandGlob(pattern).length === 0),
    warnings: checked.flatMap((one) => one.warnings),
  };
}
