/** Unit and family of a query's result, as far as the metric catalogue and its functions show. Pure. */
import { findMetric, type MetricEntry, type Unit } from "../../../src/model/catalogue/index.ts";
import type { ColourFamily } from "../chart/model.ts";

/** Functions that return a count or a time, whatever their argument. */
const PLAIN =
  /\b(?:count|count_values|group|changes|resets|absent|absent_over_time|present_over_time|count_over_time|stdvar|stdvar_over_time|timestamp|time|bool|histogram_count|label_join)\b/;
const PER_SECOND = /\b(?:rate|irate|deriv)\s*\(/;

/** The catalogue entries of the metrics in a query. */
function metricsIn(query: string): readonly MetricEntry[] {
  const bare = query.replaceAll(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\{[^}]*\}|\[[^\]]*\]/g, " ");
  const names = new Set(bare.match(/[a-zA-Z_:][\w:]*/g) ?? []);
  return [...names].flatMap((name) => findMetric(name) ?? []);
}

/** `none` if unknown: a wrong unit is worse than no unit. */
export function unitOf(query: string): Unit {
  const units = new Set(metricsIn(query).map(({ unit }) => unit));
  const [unit] = units;
  if (units.size !== 1 || unit === undefined || PLAIN.test(query)) return "none";
  const bare = query.replaceAll(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, " ");
  if (/[*/^]/.test(bare)) return "none";
  if (!PER_SECOND.test(query)) return unit;
  if (unit === "joules") return "watts";
  return unit === "bytes" ? "bytes_per_second" : "none";
}

export function familyOf(query: string): ColourFamily {
  const [metric] = metricsIn(query);
  const name = metric?.name ?? "";
  if (/_fan_/.test(name)) return "fan";
  if (/_memory_.*bytes|_memory_used/.test(name)) return "memory";
  switch (unitOf(query)) {
    case "celsius":
      return "temperature";
    case "watts":
    case "joules":
      return "power";
    case "hertz":
      return "clock";
    case "rpm":
      return "fan";
    case "ratio":
      return "utilization";
    case "bytes":
      return "memory";
    case "bytes_per_second":
    case "volts":
    case "seconds":
    case "none":
      return "count";
  }
}

/** Returns the counter that a query draws without a rate: usually its rate was meant. */
export function bareCounter(query: string): string | undefined {
  const [, name = ""] = /^\s*([a-zA-Z_:][\w:]*)\s*(?:\{[^}]*\})?\s*$/.exec(query) ?? [];
  return name.endsWith("_total") || findMetric(name)?.kind === "counter" ? name : undefined;
}
