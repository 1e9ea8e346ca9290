/** Runs `gpulse rules check`. */
import { countOf } from "../command/quantity.ts";
import { checkRuleFile } from "../../alerting/rules/file.ts";
import { duplicateRules } from "../../alerting/rules/lint.ts";
import type { CommandIo } from "../command/io.ts";

export interface RulesCheckFlags {
  readonly json?: boolean;
}

export async function runRulesCheck(
  files: readonly string[],
  flags: RulesCheckFlags,
  io: CommandIo,
): Promise<number> {
  const found = await Promise.all(
    files.map(async (file) => {
      const { groups, problems, warnings } = await checkRuleFile(file);
      const rules = groups.flatMap((group) => group.rules);
      return {
        file,
        valid: problems.length === 0,
        groups: groups.length,
        alerts: rules.filter(({ kind }) => kind === "alert").length,
        records: rules.filter(({ kind }) => kind === "record").length,
        problems,
        notes: [
          ...duplicateRules(groups),
          ...warnings.map((warning) => warning.replace(`${file}:`, "")),
        ],
      };
    }),
  );
  const valid = found.every((one) => one.valid);
  if (flags.json === true) {
    io.stdout.write(`${JSON.stringify({ valid, files: found }, null, 2)}\n`);
    return valid ? 0 : 2;
  }
  for (const { file, groups, alerts, records, problems, notes } of found) {
    for (const problem of problems) io.stderr.write(`${problem}\n`);
    for (const note of notes) io.stderr.write(`note: ${file}: ${note}\n`);
    if (problems.length === 0)
      io.stdout.write(
        `${file} is valid: ${counted(groups, "group")}, ${counted(alerts, "alert")}, ${counted(records, "recording rule")}.\n`,
      );
  }
  return valid ? 0 : 2;
}

const counted = (count: number, what: string): string => countOf(count, what);
