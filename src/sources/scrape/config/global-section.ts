/** `global`: the defaults of jobs, and the external labels. */
import * as v from "valibot";
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import { labelSet } from "../../../model/labels.ts";
import { checkLabels } from "./discovery-section.ts";
import { expandVariables } from "../../../config/yaml/expand-variables.ts";
import { byteSize, count, duration, labelMap, yamlBoolean } from "../../../config/yaml/fields.ts";
import { protocol, readFormats } from "./formats-section.ts";
import {
  histogramEntries,
  type HistogramSwitches,
  readHistogramSwitches,
} from "./histograms-section.ts";
import type { ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import type { GlobalConfig, ScrapeLimits } from "./types.ts";
import { unsupportedGlobalKeys, unsupportedEntries, reportUnsupported } from "./unsupported.ts";

export const limitEntries = {
  sample_limit: v.optional(count(), "0"),
  label_limit: v.optional(count(), "0"),
  label_name_length_limit: v.optional(count(), "0"),
  label_value_length_limit: v.optional(count(), "0"),
  target_limit: v.optional(count(), "0"),
  body_size_limit: v.optional(byteSize(), "0"),
  keep_dropped_targets: v.optional(count(), "0"),
};

const limitsSchema = v.strictObject(limitEntries);

export const globalSchema = v.strictObject({
  scrape_interval: v.optional(duration(), "0"),
  scrape_timeout: v.optional(duration(), "0"),
  evaluation_interval: v.optional(duration(), "0"),
  rule_query_offset: v.optional(duration(), "0"),
  external_labels: labelMap(),
  scrape_protocols: v.optional(v.array(protocol())),
  extra_scrape_metrics: v.optional(yamlBoolean(), false),
  ...limitEntries,
  ...histogramEntries,
  ...unsupportedEntries(unsupportedGlobalKeys),
});

/** Defaults that jobs inherit but that are not part of the displayed configuration. */
export interface JobDefaults extends GlobalConfig {
  /** Undefined if none are configured. */
  readonly formats: readonly ExpositionFormat[] | undefined;
  readonly extraMetrics: boolean;
  readonly histograms: HistogramSwitches;
}

/** A limit of 0 means that the one in `global` applies. */
export function readLimits(
  raw: v.InferOutput<typeof limitsSchema>,
  otherwise?: ScrapeLimits,
): ScrapeLimits {
  const own: ScrapeLimits = {
    samples: raw.sample_limit,
    labels: raw.label_limit,
    labelNameBytes: raw.label_name_length_limit,
    labelValueBytes: raw.label_value_length_limit,
    targets: raw.target_limit,
    bodyBytes: raw.body_size_limit,
    keepDroppedTargets: raw.keep_dropped_targets,
  };
  if (otherwise === undefined) return own;
  return {
    samples: own.samples || otherwise.samples,
    labels: own.labels || otherwise.labels,
    labelNameBytes: own.labelNameBytes || otherwise.labelNameBytes,
    labelValueBytes: own.labelValueBytes || otherwise.labelValueBytes,
    targets: own.targets || otherwise.targets,
    bodyBytes: own.bodyBytes || otherwise.bodyBytes,
    keepDroppedTargets: own.keepDroppedTargets || otherwise.keepDroppedTargets,
  };
}

/** Undefined if the section does not set it. */
export function isLegacy(raw: object): boolean | undefined {
  const { metric_name_validation_scheme: scheme } = raw as Readonly<Record<string, unknown>>;
  return scheme === undefined || scheme === "" ? undefined : scheme === "legacy";
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** If `env` is given, the external labels are expanded from it, as in Prometheus 3. */
export function readGlobal(
  raw: v.InferOutput<typeof globalSchema>,
  env: Variables | undefined,
  reading: ConfigDiagnostics,
  scrapesNative: boolean,
): JobDefaults {
  reportUnsupported(unsupportedGlobalKeys, raw, reading, ["global"]);
  reading.legacyNames = isLegacy(raw) ?? false;
  const scrapeIntervalMs = raw.scrape_interval || 60_000;
  if (raw.scrape_timeout > scrapeIntervalMs)
    reading.wrong(["global", "scrape_timeout"], "it may not be longer than the scrape_interval.");
  const path = ["global", "external_labels"];
  checkLabels(raw.external_labels, reading, path);
  const externalLabels = Object.entries(raw.external_labels).map(([name, value]) => {
    if (env === undefined) return [name, value] as const;
    const missing = (variable: string): void =>
      reading.remark([...path, name], `the variable ${variable} is not set, so it stays empty.`);
    return [name, expandVariables(value, env, missing)] as const;
  });
  return {
    scrapeIntervalMs,
    scrapeTimeoutMs: raw.scrape_timeout || Math.min(10_000, scrapeIntervalMs),
    evaluationIntervalMs: raw.evaluation_interval || 60_000,
    ruleQueryOffsetMs: raw.rule_query_offset,
    externalLabels: labelSet(Object.fromEntries(externalLabels)),
    limits: readLimits(raw),
    formats: readFormats(raw.scrape_protocols, reading, ["global", "scrape_protocols"]),
    extraMetrics: raw.extra_scrape_metrics,
    histograms: readHistogramSwitches(raw, {
      isNative: scrapesNative,
      isAlwaysClassic: false,
      isConverted: false,
    }),
  };
}
