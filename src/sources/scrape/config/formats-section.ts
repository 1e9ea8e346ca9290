/** `scrape_protocols`: which formats a target is asked for, the most wanted first. */
import * as v from "valibot";
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";

const protocols = {
  PrometheusProto: undefined,
  "PrometheusText0.0.4": "text",
  "PrometheusText1.0.0": "text",
  "OpenMetricsText0.0.1": "openmetrics",
  "OpenMetricsText1.0.0": "openmetrics",
} as const satisfies Record<string, ExpositionFormat | undefined>;

const names = Object.keys(protocols) as (keyof typeof protocols)[];
type Protocol = (typeof names)[number];

export const protocol = () => v.picklist(names, `one of ${names.join(", ")}`);

const noProtobuf = "protobuf is not read here; the text formats are asked for.";

/** Undefined where the list is not given. */
export function readFormats(
  raw: readonly Protocol[] | undefined,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): readonly ExpositionFormat[] | undefined {
  if (raw === undefined) return undefined;
  if (raw.length === 0) reading.wrong(path, "at least one format must be named.");
  if (new Set(raw).size < raw.length) reading.wrong(path, "a format is named twice.");
  if (raw.includes("PrometheusProto")) reading.lacks(path, noProtobuf);
  const formats = new Set(raw.flatMap((name) => protocols[name] ?? []));
  return formats.size === 0 ? undefined : [...formats];
}

export function readFallback(
  raw: Protocol | undefined,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): ExpositionFormat {
  if (raw === "PrometheusProto") reading.lacks(path, noProtobuf);
  return (raw === undefined ? undefined : protocols[raw]) ?? "text";
}
