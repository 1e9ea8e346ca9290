/** Runs `gpulse config check` on a gpulse.yaml, prometheus.yml or alertmanager.yml. Prints names and lines, never a secret's value. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { CommandIo } from "../command/io.ts";
import { GpulseError } from "../../base/error.ts";
import { type ConfigFile, configSchema } from "../command/schema.ts";
import { readSetting } from "../command/setting.ts";
import { hubSettings } from "../command/table.ts";
import { checkFile, type FileProblem } from "../../config/file.ts";
import { checkRuleFile } from "../../alerting/rules/file.ts";
import { readDocument } from "../../config/yaml/document.ts";
import { checkPrometheusFile } from "../../sources/scrape/config/file.ts";
import { checkOwnSections } from "../../sources/scrape/config/own-sections.ts";
import { expandGlob } from "../../config/yaml/glob.ts";
import { prometheusSchema } from "../../sources/scrape/config/sections.ts";
import { checkTargetFiles } from "../../sources/scrape/discovery/file.ts";

export interface ConfigFlags {
  readonly json?: boolean;
}

export async function runConfigCheck(
  file: string,
  flags: ConfigFlags,
  io: CommandIo,
): Promise<number> {
  const whose = await whoseFile(file);
  const { problems, notes } =
    whose === "alertmanager"
      ? await (await import("./alertmanager.ts")).checkAlertmanagerFile(file, io.env)
      : whose === "prometheus"
        ? await checkTheirs(file, io)
        : await checkOurs(file, io);
  const valid = problems.length === 0;
  if (flags.json === true) {
    io.stdout.write(`${JSON.stringify({ file, valid, problems, notes }, null, 2)}\n`);
    return valid ? 0 : 2;
  }
  for (const { sentence } of problems) io.stderr.write(`${sentence}\n`);
  for (const note of notes) io.stderr.write(`note: ${note}\n`);
  if (valid) io.stdout.write(`${file} is valid.\n`);
  return valid ? 0 : 2;
}

/** Detects the kind of file by its name, or by a key that only one of them has. */
async function whoseFile(file: string): Promise<"alertmanager" | "prometheus" | "ours"> {
  if (/alertmanager[^/]*\.ya?ml$/i.test(file)) return "alertmanager";
  if (/prometheus[^/]*\.ya?ml$/i.test(file)) return "prometheus";
  const text = await readFile(file, "utf8").catch(() => "");
  if (/^(route|receivers|inhibit_rules):/m.test(text)) return "alertmanager";
  if (/^(alerting|remote_read|scrape_config_files|storage|tracing):/m.test(text))
    return "prometheus";
  // All keys exist in both: it is a gpulse.yaml if the name says so, or if it has a key that Prometheus lacks.
  const keys = [...text.matchAll(/^([A-Za-z_]\w*):/gm)].map(([, key = ""]) => key);
  const isTheirs = keys.length > 0 && keys.every((key) => key in prometheusSchema.entries);
  return isTheirs && !/gpulse[^/]*\.ya?ml$/i.test(file) ? "prometheus" : "ours";
}

interface ConfigReport {
  readonly problems: readonly FileProblem[];
  /** Valid settings without effect in gpulse. */
  readonly notes: readonly string[];
}

async function checkOurs(file: string, io: CommandIo): Promise<ConfigReport> {
  const checked = await checkFile(file, configSchema, io.env);
  if (!checked.ok) return { problems: checked.problems, notes: [] };
  const rules = await checkRetentionRules(checked.value);
  if (rules !== undefined) return { problems: [rules], notes: [] };
  const sections = checkOwnSections(checked.value, path.dirname(path.resolve(file)));
  if (sections.ok) return { problems: [], notes: sections.value.unsupported };
  const { at } = await readDocument(await readFile(file, "utf8"), file);
  return {
    problems: sections.problems.map(({ path: where, sentence }) => ({
      code: "CONFIG_WRONG_VALUE",
      sentence: `${at(where)}: ${sentence}`,
    })),
    notes: [],
  };
}

/** Checks what the schema cannot: selectors, and the retention that rules shorten. */
async function checkRetentionRules({ hub }: ConfigFile): Promise<FileProblem | undefined> {
  const { toRetentionRules } = await import("../../hub/compose/retention-rules.ts");
  try {
    toRetentionRules({
      retentionMs: readSetting(hubSettings, "retention", {}, {}, hub),
      rollupRetentionMs: readSetting(hubSettings, "rollup_retention", {}, {}, hub),
      retentionRules: hub?.retention_rules ?? [],
    });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    return { code: "CONFIG_WRONG_VALUE", sentence: thrown.message };
  }
}

/** Checks the same as promtool: the file itself, its targets, and the target and rule files it refers to. */
async function checkTheirs(file: string, io: CommandIo): Promise<ConfigReport> {
  const checked = await checkPrometheusFile(file, io.env);
  if (!checked.ok) return { problems: checked.problems, notes: [] };
  const { scrapeConfigs, ruleFiles, unsupported } = checked.value;
  const [targets, rules] = [
    await checkTargetFiles(scrapeConfigs),
    await Promise.all(ruleFiles.flatMap(expandGlob).map(checkRuleFile)),
  ];
  const found = [...targets, ...rules.flatMap(({ problems }) => problems)];
  return {
    problems: [
      ...checked.checkFailures,
      ...found.map((sentence): FileProblem => ({ code: "CONFIG_WRONG_VALUE", sentence })),
    ],
    notes: [...unsupported, ...rules.flatMap(({ warnings }) => warnings)],
  };
}
