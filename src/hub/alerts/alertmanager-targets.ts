/** The Alertmanagers a hub sends to, from flags and settings or from the `alerting` section of a prometheus.yml. */
import { GpulseError } from "../../base/error.ts";
import { type HttpClientConfig, plainHttpClient } from "../../net/http/auth-config.ts";
import { Secret } from "../../net/http/secret.ts";
import { labelSet } from "../../model/labels.ts";
import { relabel } from "../../formats/relabel/relabel.ts";
import type { RelabelRule } from "../../formats/relabel/rule.ts";
import type { AlertmanagerConfig } from "../../sources/scrape/config/types.ts";

export interface AlertmanagerTarget {
  /** URL that alerts are posted to; never contains credentials. */
  readonly url: string;
  readonly http: HttpClientConfig;
  readonly timeoutMs: number;
  /** Relabelling of alerts sent to this Alertmanager. */
  readonly alertRelabelRules: readonly RelabelRule[];
}

export interface AlertmanagerTargets {
  readonly active: readonly AlertmanagerTarget[];
  /** Targets dropped by relabelling. */
  readonly dropped: readonly string[];
  /** Ignored settings, one sentence each. */
  readonly warnings: readonly string[];
}

const alertsPath = "/api/v2/alerts";

/** Parses an address as users write it: the root URL of an Alertmanager, optionally with user and password. */
export function parseAlertmanagerTarget(given: string): AlertmanagerTarget {
  if (!URL.canParse(given))
    throw new GpulseError("USAGE", "An Alertmanager's address must be http://HOST:PORT.");
  const { origin, pathname, username, password } = new URL(given);
  const credentials =
    username === ""
      ? {}
      : { basicAuth: { username: plain(username), password: new Secret(plain(password)) } };
  return {
    url: `${origin}${joined(pathname)}`,
    http: { ...plainHttpClient, ...credentials },
    timeoutMs: 10_000,
    alertRelabelRules: [],
  };
}

/** Decodes percent escapes. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (thrown) {
    throw new GpulseError(
      "USAGE",
      "The user or password in an Alertmanager's address has a % that is not an escape: write it as %25.",
      { cause: thrown },
    );
  }
}

const joined = (prefix: string): string =>
  `/${prefix}/${alertsPath}`
    .replace(/\/{2,}/g, "/")
    .replace(`${alertsPath}${alertsPath}`, alertsPath);

export function resolveAlertmanagerTargets(
  configs: readonly AlertmanagerConfig[],
): AlertmanagerTargets {
  const active: AlertmanagerTarget[] = [];
  const dropped: string[] = [];
  const warnings: string[] = [];
  configs.forEach((config, index) => {
    const { static: groups, ...others } = config.discovery;
    const kinds = Object.entries(others).flatMap(([kind, list]) => (list.length > 0 ? [kind] : []));
    if (kinds.length > 0)
      warnings.push(
        `alerting.alertmanagers[${index}]: Alertmanagers are not discovered by ${kinds.join(", ")}: name them in static_configs.`,
      );
    for (const { targets, labels } of groups) {
      for (const address of targets) {
        const before = {
          ...Object.fromEntries(labels),
          __address__: address,
          __scheme__: config.scheme,
          __alerts_path__: joined(config.pathPrefix),
        };
        const after = relabel(labelSet(before), config.relabelRules);
        if (after === undefined) dropped.push(urlOf(before));
        else
          active.push({
            url: urlOf(Object.fromEntries(after)),
            http: config.http,
            timeoutMs: config.timeoutMs,
            alertRelabelRules: config.alertRelabelRules,
          });
      }
    }
  });
  return { active, dropped, warnings };
}

const urlOf = (labels: Readonly<Record<string, string>>): string =>
  `${labels["__scheme__"] ?? "http"}://${labels["__address__"] ?? ""}${labels["__alerts_path__"] ?? ""}`;
