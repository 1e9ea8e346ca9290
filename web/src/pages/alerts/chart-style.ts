/**
 * Unit and hue of an alert's expression in a chart: those of its metric, if the expression only selects and does not calculate.
 * Pure.
 */
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { findMetric } from "../../../../src/model/catalogue/index.ts";
import type { ColourFamily } from "../../chart/model.ts";

const RECKONS =
  /[*/%^]|\b(?:rate|irate|increase|delta|idelta|deriv|changes|resets|count|count_over_time|absent|absent_over_time|time|timestamp|stddev|stdvar|ln|log2|log10|sqrt|sgn)\s*\(/;

export function resolveChartStyle(expr: string): {
  readonly unit: Unit;
  readonly family: ColourFamily;
} {
  const metric = [...expr.matchAll(/[a-zA-Z_:][\w:]*/g)]
    .map(([name]) => findMetric(name))
    .find((found) => found !== undefined);
  if (metric === undefined) return { unit: "none", family: "count" };
  const bare = expr.replaceAll(/\{[^}]*\}/g, "").replaceAll(/\[[^\]]*\]/g, "");
  return { unit: RECKONS.test(bare) ? "none" : metric.unit, family: familyOf(metric.name) };
}

const words: readonly (readonly [RegExp, ColourFamily])[] = [
  [/temperature/, "temperature"],
  [/power|energy/, "power"],
  [/memory/, "memory"],
  [/clock/, "clock"],
  [/fan/, "fan"],
  [/utilization|activity/, "utilization"],
];

const familyOf = (name: string): ColourFamily =>
  words.find(([word]) => word.test(name))?.[1] ?? "count";
