/** Opens alerting from the settings and files: the rules, the history they query, and the sink for their alerts. */
import { existsSync } from "node:fs";
import { checkRuleFile } from "../../alerting/rules/file.ts";
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { resolveBesideFile } from "../../cli/command/alerting.ts";
import { loadFile } from "../../config/file.ts";
import { isLoopback } from "../guard.ts";
import { AlertingEngine, type AlertingOptions, type RulePlan } from "../alerts/alerting.ts";
import { ownRulesFile } from "../alerts/own-rules.ts";
import { loadRules } from "../alerts/rule-files.ts";
import type { Timeline } from "../events/timeline.ts";
import type { Log } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import { openAlertSink } from "./alert-sink.ts";
import { loadScrapeFiles } from "./scrape-config.ts";

const defaultIntervalMs = 15_000;

export async function openAlerting(
  settings: Settings,
  storage: Pick<AlertingOptions, "history" | "writer">,
  timeline: Timeline,
  io: CommandIo,
  log: Log,
): Promise<AlertingEngine> {
  const plan = (): Promise<RulePlan> => planOf(settings, io, log);
  // An invalid rule file must be reported before anything is opened for it.
  const first = bringsFiles(settings) ? await plan() : undefined;
  const sink = timeline.watchAlerts(
    await openAlertSink(settings, externalUrlOf(settings), io, log),
  );
  const alerting = await AlertingEngine.open(
    { ...storage, sink, plan, clock: systemClock, log },
    first,
  );
  // `reload` has logged the error.
  io.onReload?.(() => void alerting.reload().catch(() => undefined));
  return alerting;
}

const bringsFiles = ({ alerting, prometheusConfig, configFile }: Settings): boolean =>
  alerting.ruleFiles.length > 0 || prometheusConfig !== undefined || configFile !== undefined;

async function planOf(settings: Settings, io: CommandIo, log: Log): Promise<RulePlan> {
  const { ruleFiles, defaultRules, evaluationIntervalMs } = settings.alerting;
  const config = (await loadScrapeFiles(settings, io.env))?.config;
  const patterns = [
    ...ruleFiles,
    ...(config?.ruleFiles ?? []),
    ...(await ownRuleFiles(settings, io)),
    ...(await pageRuleFiles(settings, log)),
  ];
  const { groups, unmatched, warnings } = await loadRules(patterns, defaultRules);
  for (const pattern of unmatched) log.warn("no rule file matches", { pattern });
  for (const warning of warnings) log.warn(warning);
  const theirIntervalMs =
    settings.prometheusConfig === undefined ? undefined : config?.global.evaluationIntervalMs;
  return {
    groups,
    settings: {
      externalLabels: new Map(config?.global.externalLabels ?? []),
      externalUrl: externalUrlOf(settings),
      queryOffsetMs: config?.global.ruleQueryOffsetMs ?? 0,
      intervalMs: evaluationIntervalMs ?? theirIntervalMs ?? defaultIntervalMs,
    },
    alertRelabelRules: config?.alerting.alertRelabelRules ?? [],
  };
}

/** The file of the rules created on the page. If it is damaged, only its own rules are skipped. */
async function pageRuleFiles({ dataDir }: Settings, log: Log): Promise<readonly string[]> {
  const file = ownRulesFile(dataDir);
  if (!existsSync(file)) return [];
  const { problems } = await checkRuleFile(file);
  if (problems.length === 0) return [file];
  log.error("the rules made on the page are not used: fix or remove the file", {
    file,
    error: problems[0] ?? "",
  });
  return [];
}

/** The rule files named in gpulse.yaml, which a reload reads again. */
async function ownRuleFiles({ configFile }: Settings, io: CommandIo): Promise<readonly string[]> {
  if (configFile === undefined) return [];
  const { configSchema } = await import("../../cli/command/schema.ts");
  const { rule_files: names = [] } = await loadFile(configFile, configSchema, io.env);
  return names.map((name) => resolveBesideFile(configFile, name));
}

/** Without a trailing slash. */
export function externalUrlOf({ alerting, listen, web, access, hostName }: Settings): string {
  if (alerting.externalUrl !== undefined) return alerting.externalUrl.replace(/\/+$/, "");
  const secure = web.tls !== undefined || access.behindProxy;
  const host = isLoopback(listen.host) ? "127.0.0.1" : hostName;
  return `${secure ? "https" : "http"}://${host}:${listen.port}`;
}
