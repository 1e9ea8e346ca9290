/** The `alerting` section: the Alertmanagers that receive alerts, and the relabeling of alerts for them. */
import * as v from "valibot";
import { labelSet, labelValue } from "../../../model/labels.ts";
import { relabel } from "../../../formats/relabel/relabel.ts";
import { discoveryEntries, readDiscovery } from "./discovery-section.ts";
import { duration, scalar } from "../../../config/yaml/fields.ts";
import { httpEntries, readHttp } from "./http-section.ts";
import { readScheme, scheme } from "./job-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import { readRules, rulesSchema } from "./formats-section.ts";
import type { AlertmanagerConfig, PrometheusConfig } from "./types.ts";
import {
  unsupportedAlertmanagerKeys,
  unsupportedEntries,
  reportUnsupported,
} from "./unsupported.ts";

export const alertingSchema = v.strictObject({
  alert_relabel_configs: rulesSchema(),
  alertmanagers: v.optional(
    v.array(
      v.strictObject({
        scheme: scheme(),
        path_prefix: v.optional(scalar(), ""),
        timeout: v.optional(duration(), "10s"),
        api_version: v.optional(
          v.picklist(["v2"], "v2, the only version Alertmanager still speaks"),
          "v2",
        ),
        relabel_configs: rulesSchema(),
        alert_relabel_configs: rulesSchema(),
        ...discoveryEntries,
        ...httpEntries,
        ...unsupportedEntries(unsupportedAlertmanagerKeys),
      }),
    ),
    [],
  ),
});

export function readAlerting(
  raw: v.InferOutput<typeof alertingSchema>,
  reading: ConfigDiagnostics,
): PrometheusConfig["alerting"] {
  return {
    alertRelabelRules: readRules(raw.alert_relabel_configs, reading, [
      "alerting",
      "alert_relabel_configs",
    ]),
    alertmanagers: raw.alertmanagers.flatMap((one, index) => {
      const path = ["alerting", "alertmanagers", index];
      const { part, inactive } = reading.part("No alerts are sent there.", () =>
        readAlertmanager(one, reading, path),
      );
      if (inactive === undefined) checkTargets(part, reading, path);
      return inactive === undefined ? [part] : [];
    }),
  };
}

type Raw = v.InferOutput<typeof alertingSchema>["alertmanagers"][number];

function readAlertmanager(
  one: Raw,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): AlertmanagerConfig {
  reportUnsupported(unsupportedAlertmanagerKeys, one, reading, path);
  return {
    scheme: readScheme(one.scheme, reading, path),
    pathPrefix: one.path_prefix,
    timeoutMs: one.timeout,
    relabelRules: readRules(one.relabel_configs, reading, [...path, "relabel_configs"]),
    alertRelabelRules: readRules(one.alert_relabel_configs, reading, [
      ...path,
      "alert_relabel_configs",
    ]),
    discovery: readDiscovery(one, one.relabel_configs.length > 0, reading, path),
    http: readHttp(one, reading, path),
  };
}

/** Like promtool, applies the relabeling rules to static addresses and rejects invalid ones. */
function checkTargets(
  { discovery, relabelRules }: AlertmanagerConfig,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): void {
  for (const [group, { targets, labels }] of discovery.static.entries())
    for (const [index, target] of targets.entries()) {
      const given = labelSet({ ...Object.fromEntries(labels), __address__: target });
      const kept = relabel(given, relabelRules);
      const address = kept === undefined ? "dropped" : (labelValue(kept, "__address__") ?? "");
      if (address.includes("/"))
        reading.failsCheck(
          [...path, "static_configs", group, "targets", index],
          `${JSON.stringify(address)} is not a valid host and port.`,
        );
    }
}
