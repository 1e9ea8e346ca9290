/** Chooses where alerts are routed: by an alertmanager.yml in this hub, or by external Alertmanagers from flags or a prometheus.yml. */
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import {
  type AlertmanagerTargets,
  parseAlertmanagerTarget,
  resolveAlertmanagerTargets,
} from "../alerts/alertmanager-targets.ts";
import type { AlertSink } from "../alerts/sink.ts";
import type { Log } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import { loadScrapeFiles } from "./scrape-config.ts";

export async function openAlertSink(
  settings: Settings,
  externalUrl: string,
  io: CommandIo,
  log: Log,
): Promise<AlertSink> {
  const { routingFile: file, alertmanagers } = settings.alerting;
  const around = { clock: systemClock, random: Math.random, log };
  const targets = async (): Promise<AlertmanagerTargets> => {
    const config = (await loadScrapeFiles(settings, io.env))?.config;
    const found = resolveAlertmanagerTargets(config?.alerting.alertmanagers ?? []);
    return { ...found, active: [...alertmanagers.map(parseAlertmanagerTarget), ...found.active] };
  };
  const { active } = await targets();
  if (active.length > 0 && file === undefined) {
    const { openExternalAlertmanagers } = await import("../alerts/external.ts");
    return openExternalAlertmanagers({ targets, ...around, version: io.version });
  }
  if (active.length > 0)
    log.warn("Alertmanagers of prometheus.yml are not used: this hub routes the alerts", {
      by: file,
    });
  const { openRouting } = await import("../alerts/routing.ts");
  return openRouting({ file, dataDir: settings.dataDir, env: io.env, externalUrl, ...around });
}
