/** Reads the parts of gpulse.yaml that have the same meaning as in a prometheus.yml. */
import * as v from "valibot";
import { checkValue } from "../../../config/check.ts";
import { GpulseError } from "../../../base/error.ts";
import { plainSentence } from "./file.ts";
import type { ownKeys } from "./own-keys.ts";
import {
  ConfigDiagnostics,
  type ConfigIssue,
  type ConfigPath,
} from "../../../config/yaml/diagnostics.ts";
import { checkJobNames, prometheusSchema, readSections } from "./sections.ts";
import type { PrometheusConfig } from "./types.ts";

const { global, scrape_configs, remote_write } = prometheusSchema.entries;
const ownSchema = v.strictObject({ global, scrape_configs, remote_write });

const outline = v.object({} as typeof ownKeys);
export type OwnRaw = v.InferInput<typeof outline>;

export type OwnSectionsCheckResult =
  | { readonly ok: true; readonly value: PrometheusConfig }
  | { readonly ok: false; readonly problems: readonly ConfigIssue[] };

/** `folder` is the file's folder, the base of relative paths. Secrets must be resolved already. */
export function checkOwnSections(
  raw: OwnRaw,
  folder: string,
  scrapesNative = false,
): OwnSectionsCheckResult {
  const given = {
    global: raw.global,
    scrape_configs: raw.scrape_configs,
    remote_write: raw.remote_write,
  };
  const checked = checkValue(ownSchema, given);
  if (!checked.ok)
    return {
      ok: false,
      problems: checked.problems.map(({ path, sentence }) => ({
        path,
        sentence: plainSentence(given, path, sentence),
      })),
    };
  const reading = new ConfigDiagnostics(folder);
  const whole = v.parse(prometheusSchema, {});
  const { config } = readSections(
    { ...whole, ...checked.value },
    undefined,
    reading,
    scrapesNative,
  );
  checkJobNames(config.scrapeConfigs, new Set(), reading);
  if (reading.mistakes.length > 0) return { ok: false, problems: reading.mistakes };
  const warnings = [...reading.unsupported, ...reading.checkFailures];
  return { ok: true, value: { ...config, unsupported: warnings.map(({ sentence }) => sentence) } };
}

/** `at` returns `file:line:column` of a path. */
export function readOwnSections(
  raw: OwnRaw,
  folder: string,
  at: (path: ConfigPath) => string,
  scrapesNative = false,
): PrometheusConfig {
  const checked = checkOwnSections(raw, folder, scrapesNative);
  if (checked.ok) return checked.value;
  const [first, ...more] = checked.problems;
  throw new GpulseError(
    "CONFIG_WRONG_VALUE",
    `${at(first?.path ?? [])}: ${first?.sentence ?? "not understood."}${more.length === 0 ? "" : ` (${more.length} more)`}`,
  );
}
