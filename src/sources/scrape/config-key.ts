/**
 * A string key of a configuration: two keys are equal exactly if the configurations are, secrets included. Held in memory only
 * and never displayed.
 */
import { Secret } from "../../net/http/secret.ts";
import type { ScrapeConfig } from "./config/types.ts";

export function configKey(part: unknown): string {
  return JSON.stringify(open(part));
}

/** Key of the settings that determine a series' labels and lifetime; loops whose key changes start with an empty cache. */
export function seriesKey(config: ScrapeConfig): string {
  const { honorLabels, honorTimestamps, trackTimestampsStaleness, fallbackFormat } = config;
  const { labels, labelNameBytes, labelValueBytes } = config.limits;
  return configKey([
    honorLabels,
    honorTimestamps,
    trackTimestampsStaleness,
    fallbackFormat,
    config.extraMetrics,
    config.metricRelabelRules,
    labels,
    labelNameBytes,
    labelValueBytes,
  ]);
}

/** Compiled objects are compared by their source text. */
function open(part: unknown): unknown {
  if (part instanceof Secret) return { secret: part.reveal() };
  if (Array.isArray(part)) return part.map(open);
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(
    Object.entries(part)
      .filter(([, value]) => !isCompiled(value))
      .map(([key, value]) => [key, open(value)]),
  );
}

const isCompiled = (value: unknown): boolean =>
  typeof value === "function" ||
  (typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Secret) &&
    Object.getPrototypeOf(value) !== Object.prototype);
