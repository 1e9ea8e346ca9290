/** The flags and keys of alerting: rules, routing and Alertmanagers. */
import { dirname, isAbsolute, join } from "node:path";
import type { Command } from "commander";
import * as v from "valibot";
import { durationMs, flag, text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { collect, optionalKey, parseSetting } from "./setting.ts";

export interface AlertingFlags {
  readonly rules?: readonly string[];
  readonly defaultRules?: boolean;
  readonly anomalies?: boolean;
  readonly evaluationInterval?: string;
  readonly alertmanagerConfig?: string;
  readonly alertmanager?: readonly string[];
  readonly externalUrl?: string;
}

export interface AlertingSettings {
  /** Rule files and patterns from flags; those of the config file are read from it at each reload. */
  readonly ruleFiles: readonly string[];
  /** True if the rules that come with gpulse are evaluated too. */
  readonly defaultRules: boolean;
  /** True if anomaly detection is enabled. */
  readonly anomalies: boolean;
  /** Undefined: the value of a prometheus.yml, or 15 s. */
  readonly evaluationIntervalMs: number | undefined;
  /** The alertmanager.yml for routing in this hub. */
  readonly routingFile: string | undefined;
  /** External Alertmanagers to route instead. */
  readonly alertmanagers: readonly string[];
  /** The hub's public URL; undefined: its listen address. */
  readonly externalUrl: string | undefined;
}

export function addAlertingFlags(command: Command): Command {
  return command
    .option("--rules <glob>", "evaluate these Prometheus rule files; repeatable", collect)
    .option("--no-default-rules", "do not evaluate the rules that come with gpulse")
    .option("--no-anomalies", "do not detect GPUs that deviate from their own past or their peers")
    .option(
      "--evaluation-interval <duration>",
      "evaluation interval of rule groups that set none (default: 15s)",
    )
    .option("--alertmanager-config <file>", "route alerts with this alertmanager.yml")
    .option(
      "--alertmanager <url>",
      "send alerts to this Alertmanager instead of routing them here; repeatable",
      collect,
    )
    .option(
      "--external-url <url>",
      "the hub's address as its users see it, for links (default: where it listens)",
    );
}

const interval = () => durationMs(1_000, 86_400_000);

function webUrl() {
  const takes = "a URL such as http://host:9093";
  return v.pipe(
    v.string(takes),
    v.check((given) => URL.canParse(given) && /^https?:$/.test(new URL(given).protocol), takes),
  );
}

/** A top-level key, like the others that have the same meaning in a prometheus.yml. */
export const ruleFilesKey = optionalKey(
  v.array(text("a file or pattern"), "a list of files"),
  "Prometheus rule files that the hub evaluates; the last part of a path may contain `*`, as in prometheus.yml.",
);

/** Keys of `hub:`. */
export const alertingKeys = {
  default_rules: optionalKey(flag(), "Evaluate the rules that come with gpulse."),
  anomalies: optionalKey(
    flag(),
    "Detect GPUs that deviate from their own past or their peers: see [anomalies](../guides/anomalies.md).",
  ),
  evaluation_interval: optionalKey(interval(), "Evaluation interval of rule groups that set none."),
  alertmanager_config: optionalKey(
    text("a file"),
    "An alertmanager.yml with routes and receivers.",
  ),
  alertmanagers: optionalKey(
    v.array(webUrl(), "a list of URLs"),
    "Alertmanagers that receive the alerts; the hub then routes nothing itself.",
  ),
  external_url: optionalKey(
    webUrl(),
    "The hub's address as its users see it: for links, and as its host name behind a proxy.",
  ),
};

const keysSchema = v.object(alertingKeys);

export function alertingSettings(
  flags: AlertingFlags,
  hub: v.InferOutput<typeof keysSchema> | undefined,
  configFile: string | undefined,
): AlertingSettings {
  const routingFile =
    flags.alertmanagerConfig ??
    (hub?.alertmanager_config === undefined
      ? undefined
      : resolveBesideFile(configFile, hub.alertmanager_config));
  const alertmanagers =
    flags.alertmanager?.map((url) => parseSetting(webUrl(), "--alertmanager", url)) ??
    hub?.alertmanagers ??
    [];
  if (routingFile !== undefined && alertmanagers.length > 0)
    throw new GpulseError(
      "USAGE",
      "Alerts are routed either here or by an Alertmanager: pass --alertmanager-config or --alertmanager, not both.",
    );
  return {
    ruleFiles: flags.rules ?? [],
    defaultRules: flags.defaultRules === false ? false : (hub?.default_rules ?? true),
    anomalies: flags.anomalies === false ? false : (hub?.anomalies ?? true),
    evaluationIntervalMs:
      flags.evaluationInterval === undefined
        ? hub?.evaluation_interval
        : parseSetting(interval(), "--evaluation-interval", flags.evaluationInterval),
    routingFile,
    alertmanagers,
    externalUrl:
      flags.externalUrl === undefined
        ? hub?.external_url
        : parseSetting(webUrl(), "--external-url", flags.externalUrl),
  };
}

/** Resolves a relative path against the folder of the file that contains it. */
export function resolveBesideFile(file: string | undefined, name: string): string {
  return isAbsolute(name) || file === undefined ? name : join(dirname(file), name);
}
