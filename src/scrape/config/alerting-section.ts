/** `alerting`: which Alertmanagers are told, and what alerts look like to them. */
import * as v from "valibot";
import { discoveryEntries, readDiscovery } from "./discovery-section.ts";
import { duration, scalar } from "./fields.ts";
import { httpEntries, readHttp } from "./http-section.ts";
import { scheme } from "./job-section.ts";
import type { Reading } from "./reading.ts";
import { readRules, rulesSchema } from "./relabel-section.ts";
import type { PrometheusConfig } from "./types.ts";
import { alertmanagerLacks, lackEntries, sayLacks } from "./unsupported.ts";

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
        ...lackEntries(alertmanagerLacks),
      }),
    ),
    [],
  ),
});

export function readAlerting(
  raw: v.InferOutput<typeof alertingSchema>,
  reading: Reading,
): PrometheusConfig["alerting"] {
  return {
    alertRelabelRules: readRules(raw.alert_relabel_configs, reading, [
      "alerting",
      "alert_relabel_configs",
    ]),
    alertmanagers: raw.alertmanagers.map((one, index) => {
      const path = ["alerting", "alertmanagers", index];
      sayLacks(alertmanagerLacks, one, reading, path);
      return {
        scheme: one.scheme,
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
    }),
  };
}
