/** `scrape_protocols`: the formats to request from a target, in order of preference. */
import * as v from "valibot";
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import type { ConfigDiagnostics, ConfigPath } from "../../../config/yaml/diagnostics.ts";
import { GpulseError } from "../../../base/error.ts";
import { compileRule, type RelabelRule } from "../../../formats/relabel/rule.ts";
import { count, scalar } from "../../../config/yaml/fields.ts";

const protocols = {
  PrometheusProto: "protobuf",
  "PrometheusText0.0.4": "text",
  "PrometheusText1.0.0": "text",
  "OpenMetricsText0.0.1": "openmetrics",
  "OpenMetricsText1.0.0": "openmetrics",
} as const satisfies Record<string, ExpositionFormat>;

const names = Object.keys(protocols) as (keyof typeof protocols)[];
type Protocol = (typeof names)[number];

export const protocol = () => v.picklist(names, `one of ${names.join(", ")}`);

/** The default as in Prometheus: protobuf is requested only for native histograms. */
export const defaultFormats = (isNative: boolean): readonly ExpositionFormat[] =>
  isNative ? ["protobuf", "openmetrics", "text"] : ["openmetrics", "text"];

/** Undefined if the list is not configured. */
export function readFormats(
  raw: readonly Protocol[] | undefined,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): readonly ExpositionFormat[] | undefined {
  if (raw === undefined) return undefined;
  if (raw.length === 0) reading.wrong(path, "at least one format must be named.");
  if (new Set(raw).size < raw.length) reading.wrong(path, "a format is named twice.");
  const formats = new Set(raw.map((name) => protocols[name]));
  return formats.size === 0 ? undefined : [...formats];
}

export const readFallback = (raw: Protocol | undefined): ExpositionFormat =>
  raw === undefined ? "text" : protocols[raw];

/* Lists of relabeling rules. */

const ruleSchema = v.strictObject({
  source_labels: v.optional(v.array(scalar())),
  separator: v.optional(scalar()),
  regex: v.optional(scalar()),
  modulus: v.optional(count()),
  target_label: v.optional(scalar()),
  replacement: v.optional(scalar()),
  action: v.optional(scalar()),
});

export const rulesSchema = () => v.optional(v.array(ruleSchema), []);

export function readRules(
  raw: readonly v.InferOutput<typeof ruleSchema>[],
  reading: ConfigDiagnostics,
  path: ConfigPath,
): RelabelRule[] {
  return raw.flatMap((rule, index) => {
    try {
      return [compileRule(rule, reading.legacyNames)];
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      reading.wrong([...path, index], thrown.message);
      return [];
    }
  });
}
