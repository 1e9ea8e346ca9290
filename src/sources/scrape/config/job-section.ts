/** One of `scrape_configs`: targets, request options, relabeling and limits. */
import * as v from "valibot";
import { populateTarget } from "../targets/populate.ts";
import { discoversNothing, discoveryEntries, readDiscovery } from "./discovery-section.ts";
import {
  duration,
  nonEmptyScalar,
  mappingOf,
  scalar,
  yamlBoolean,
} from "../../../config/yaml/fields.ts";
import {
  defaultFormats,
  protocol,
  readFallback,
  readFormats,
  readRules,
  rulesSchema,
} from "./formats-section.ts";
import { isLegacy, type JobDefaults, limitEntries, readLimits } from "./global-section.ts";
import { jobHistogramEntries, readHistograms } from "./histograms-section.ts";
import { httpEntries, readHttp } from "./http-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import type { ScrapeConfig } from "./types.ts";
import { unsupportedJobKeys, unsupportedEntries, reportUnsupported } from "./unsupported.ts";

/** Go accepts any scheme and then fails to scrape; `HTTPS` in capitals works. */
export const scheme = () => v.optional(scalar(), "http");

export function readScheme(
  raw: string,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): "http" | "https" {
  const lower = raw.toLowerCase();
  if (lower === "http" || lower === "https") return lower;
  reading.refuses([...path, "scheme"], `"${raw}" is neither http nor https.`);
  return "http";
}

export const jobSchema = v.strictObject({
  job_name: nonEmptyScalar("a name"),
  scrape_interval: v.optional(duration(), "0"),
  scrape_timeout: v.optional(duration(), "0"),
  metrics_path: v.optional(scalar(), "/metrics"),
  scheme: scheme(),
  params: mappingOf(
    v.array(
      v.pipe(
        v.nullish(scalar()),
        v.transform((value) => value ?? ""),
      ),
    ),
  ),
  honor_labels: v.optional(yamlBoolean(), false),
  honor_timestamps: v.optional(yamlBoolean(), true),
  track_timestamps_staleness: v.optional(yamlBoolean(), false),
  enable_compression: v.optional(yamlBoolean(), true),
  scrape_protocols: v.optional(v.array(protocol())),
  fallback_scrape_protocol: v.optional(protocol()),
  extra_scrape_metrics: v.optional(yamlBoolean()),
  relabel_configs: rulesSchema(),
  metric_relabel_configs: rulesSchema(),
  ...limitEntries,
  ...jobHistogramEntries,
  ...discoveryEntries,
  ...httpEntries,
  ...unsupportedEntries(unsupportedJobKeys),
});

export type JobRaw = v.InferOutput<typeof jobSchema>;

/** A job that requires an unsupported feature is loaded as inactive, so that a valid Prometheus file is not rejected. */
export function readJob(
  raw: JobRaw,
  defaults: JobDefaults,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): ScrapeConfig {
  const name = JSON.stringify(raw.job_name);
  const globalScheme = reading.legacyNames;
  reading.legacyNames = isLegacy(raw) ?? globalScheme;
  const { part: job, inactive } = reading.part(`The job ${name} is inactive.`, () =>
    readActiveJob(raw, defaults, reading, path),
  );
  reading.legacyNames = globalScheme;
  if (inactive !== undefined) return { ...job, inactive };
  if (discoversNothing(raw, job.discovery)) {
    reading.remark(path, `the job ${name} is inactive: none of its discoveries is supported.`);
    return { ...job, inactive: "none of its discoveries is supported." };
  }
  checkTargets(job, reading, path);
  return job;
}

/** Like promtool, applies the relabeling rules to static targets and rejects those that cannot be scraped. */
function checkTargets(job: ScrapeConfig, reading: ConfigDiagnostics, path: ConfigPath): void {
  for (const [group, { targets, labels }] of job.discovery.static.entries())
    for (const [index, target] of targets.entries()) {
      const made = populateTarget({ __address__: target }, Object.fromEntries(labels), job);
      if (made.is === "broken")
        reading.failsCheck(
          [...path, "static_configs", group, "targets", index],
          `${JSON.stringify(target)} cannot be scraped: ${made.why}.`,
        );
    }
}

function readActiveJob(
  raw: JobRaw,
  defaults: JobDefaults,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): ScrapeConfig {
  reportUnsupported(unsupportedJobKeys, raw, reading, path);
  const intervalMs = raw.scrape_interval || defaults.scrapeIntervalMs;
  if (raw.scrape_timeout > intervalMs)
    reading.wrong(
      [...path, "scrape_timeout"],
      `it may not be longer than the scrape_interval of job "${raw.job_name}".`,
    );
  const histograms = readHistograms(raw, defaults.histograms, reading, path);
  return {
    jobName: raw.job_name,
    intervalMs,
    timeoutMs: raw.scrape_timeout || Math.min(defaults.scrapeTimeoutMs, intervalMs),
    metricsPath: raw.metrics_path === "" ? "/" : raw.metrics_path,
    scheme: readScheme(raw.scheme, reading, path),
    params: raw.params,
    honorLabels: raw.honor_labels,
    honorTimestamps: raw.honor_timestamps,
    trackTimestampsStaleness: raw.track_timestamps_staleness,
    enableCompression: raw.enable_compression,
    formats:
      readFormats(raw.scrape_protocols, reading, [...path, "scrape_protocols"]) ??
      defaults.formats ??
      defaultFormats(histograms.isNative),
    fallbackFormat: readFallback(raw.fallback_scrape_protocol),
    extraMetrics: raw.extra_scrape_metrics ?? defaults.extraMetrics,
    histograms,
    limits: readLimits(raw, defaults.limits),
    relabelRules: readRules(raw.relabel_configs, reading, [...path, "relabel_configs"]),
    metricRelabelRules: readRules(raw.metric_relabel_configs, reading, [
      ...path,
      "metric_relabel_configs",
    ]),
    discovery: readDiscovery(raw, raw.relabel_configs.length > 0, reading, path),
    http: readHttp(raw, reading, path),
  };
}
