/** Settings of native histograms: the switches of `global` and jobs, and a job's limits on buckets. */
import * as v from "valibot";
import { maxSchema, minSchema } from "../../../model/histogram/histogram.ts";
import type { ConfigDiagnostics, ConfigPath } from "../../../config/yaml/diagnostics.ts";
import { count, scalar, yamlBoolean } from "../../../config/yaml/fields.ts";
import type { HistogramConfig } from "./types.ts";

/** The same keys exist in `global` and in jobs; a job without them inherits the values of `global`. */
export const histogramEntries = {
  scrape_native_histograms: v.optional(yamlBoolean()),
  always_scrape_classic_histograms: v.optional(yamlBoolean()),
  convert_classic_histograms_to_nhcb: v.optional(yamlBoolean()),
};

export const jobHistogramEntries = {
  ...histogramEntries,
  /** The name of `always_scrape_classic_histograms` before Prometheus 3. */
  scrape_classic_histograms: v.optional(yamlBoolean()),
  native_histogram_bucket_limit: v.optional(count(), "0"),
  native_histogram_min_bucket_factor: v.optional(scalar(), "0"),
};

const switchesSchema = v.strictObject(histogramEntries);
const jobSchema = v.strictObject(jobHistogramEntries);

export type HistogramSwitches = Pick<
  HistogramConfig,
  "isNative" | "isAlwaysClassic" | "isConverted"
>;

export function readHistogramSwitches(
  raw: v.InferOutput<typeof switchesSchema>,
  defaults: HistogramSwitches,
): HistogramSwitches {
  return {
    isNative: raw.scrape_native_histograms ?? defaults.isNative,
    isAlwaysClassic: raw.always_scrape_classic_histograms ?? defaults.isAlwaysClassic,
    isConverted: raw.convert_classic_histograms_to_nhcb ?? defaults.isConverted,
  };
}

export function readHistograms(
  raw: v.InferOutput<typeof jobSchema>,
  defaults: HistogramSwitches,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): HistogramConfig {
  const factor = Number(raw.native_histogram_min_bucket_factor);
  if (Number.isNaN(factor))
    reading.wrong([...path, "native_histogram_min_bucket_factor"], "a number is expected.");
  const always = raw.always_scrape_classic_histograms ?? raw.scrape_classic_histograms;
  return {
    ...readHistogramSwitches({ ...raw, always_scrape_classic_histograms: always }, defaults),
    bucketLimit: raw.native_histogram_bucket_limit,
    maxSchema: factor > 0 ? finestSchema(factor) : maxSchema,
  };
}

/** The finest schema whose bucket boundaries grow by at least this factor. */
function finestSchema(factor: number): number {
  if (factor <= 1) return maxSchema;
  const schema = Math.floor(-Math.log2(Math.log2(factor)));
  return Math.max(minSchema, Math.min(maxSchema, schema));
}
