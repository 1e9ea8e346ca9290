/** The schema of a whole prometheus.yml, and its conversion to the checked configuration. */
import * as v from "valibot";
import { alertingSchema, readAlerting } from "./alerting-section.ts";
import { nonEmptyScalar, list, yamlBoolean } from "../../../config/yaml/fields.ts";
import { globalSchema, type JobDefaults, readGlobal, type Variables } from "./global-section.ts";
import { jobSchema, readJob } from "./job-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import { readRemoteWrite, remoteWriteSchema } from "./remote-write-section.ts";
import type { PrometheusConfig, ScrapeConfig } from "./types.ts";
import {
  reportUnsupported,
  unsupportedEntries,
  unsupportedOtlpKeys,
  unsupportedTopKeys,
} from "./unsupported.ts";

const jobsSchema = list(jobSchema);

export const prometheusSchema = v.strictObject({
  global: v.optional(globalSchema, {}),
  scrape_configs: jobsSchema,
  scrape_config_files: list(nonEmptyScalar("a path")),
  remote_write: list(remoteWriteSchema),
  rule_files: list(nonEmptyScalar("a path")),
  alerting: v.optional(alertingSchema, {}),
  otlp: v.optional(
    v.strictObject({
      convert_histograms_to_nhcb: v.optional(yamlBoolean(), false),
      ...unsupportedEntries(unsupportedOtlpKeys),
    }),
    {},
  ),
  ...unsupportedEntries(unsupportedTopKeys),
});

/** One of `scrape_config_files`. */
export const scrapeFileSchema = v.strictObject({ scrape_configs: jobsSchema });

export type PrometheusRaw = v.InferOutput<typeof prometheusSchema>;

export interface Sections {
  readonly config: Omit<PrometheusConfig, "unsupported">;
  readonly defaults: JobDefaults;
  /** Patterns of further files with jobs. */
  readonly scrapeFiles: readonly string[];
}

/**
 * Records mistakes in `reading`; the result must not be used if there are any.
 * @param scrapesNative the default of `scrape_native_histograms`
 */
export function readSections(
  raw: PrometheusRaw,
  env: Variables | undefined,
  reading: ConfigDiagnostics,
  scrapesNative = false,
): Sections {
  reportUnsupported(unsupportedTopKeys, raw, reading, []);
  reportUnsupported(unsupportedOtlpKeys, raw.otlp, reading, ["otlp"]);
  const defaults = readGlobal(raw.global, env, reading, scrapesNative);
  const {
    formats: _formats,
    extraMetrics: _extraMetrics,
    histograms: _histograms,
    ...global
  } = defaults;
  return {
    config: {
      global,
      scrapeConfigs: readJobs(raw.scrape_configs, defaults, reading),
      remoteWrite: readRemoteWrite(raw.remote_write, reading),
      ruleFiles: readPatterns(raw.rule_files, reading, ["rule_files"]),
      alerting: readAlerting(raw.alerting, reading),
      otlp: { toCustomBuckets: raw.otlp.convert_histograms_to_nhcb },
    },
    defaults,
    scrapeFiles: readPatterns(raw.scrape_config_files, reading, ["scrape_config_files"]),
  };
}

export function readJobs(
  raw: v.InferOutput<typeof jobsSchema>,
  defaults: JobDefaults,
  reading: ConfigDiagnostics,
): ScrapeConfig[] {
  return raw.map((job, index) => readJob(job, defaults, reading, ["scrape_configs", index]));
}

/** Two jobs with the same name could not be told apart; `seen` is passed from file to file. */
export function checkJobNames(
  jobs: readonly ScrapeConfig[],
  seen: Set<string>,
  reading: ConfigDiagnostics,
): void {
  for (const [index, { jobName }] of jobs.entries()) {
    if (seen.has(jobName))
      reading.wrong(["scrape_configs", index], `there are two jobs named "${jobName}".`);
    seen.add(jobName);
  }
}

function readPatterns(
  patterns: readonly string[],
  reading: ConfigDiagnostics,
  path: ConfigPath,
): string[] {
  for (const [index, pattern] of patterns.entries())
    if (!/^[^*]*(\*[^/]*)?$/.test(pattern))
      reading.wrong(
        [...path, index],
        `${JSON.stringify(pattern)} may have a * only in its last part.`,
      );
    else if (!/[*?[]/.test(pattern) && path[0] === "rule_files")
      reading.checkFile([...path, index], reading.file(pattern), true);
  return patterns.map((pattern) => reading.file(pattern));
}
