/** For tests: a scrape configuration with every default, and a batch as text. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { plainHttpClient } from "../../net/http/auth-config.ts";
import { isStale } from "../../model/stale.ts";
import type { ScrapeConfig } from "./config/types.ts";
import type { DiscoveredGroup, Discovery } from "./discovery/group.ts";

export const noLimits: ScrapeConfig["limits"] = {
  samples: 0,
  labels: 0,
  labelNameBytes: 0,
  labelValueBytes: 0,
  targets: 0,
  bodyBytes: 0,
  keepDroppedTargets: 0,
};

export const noDiscovery: ScrapeConfig["discovery"] = {
  static: [],
  file: [],
  http: [],
  dns: [],
  kubernetes: [],
};

export function scrapeConfig(given: Partial<ScrapeConfig> = {}): ScrapeConfig {
  return {
    jobName: "job",
    intervalMs: 15_000,
    timeoutMs: 10_000,
    metricsPath: "/metrics",
    scheme: "http",
    params: {},
    honorLabels: false,
    honorTimestamps: true,
    trackTimestampsStaleness: false,
    enableCompression: true,
    formats: ["openmetrics", "text"],
    fallbackFormat: "text",
    extraMetrics: false,
    limits: noLimits,
    relabelRules: [],
    metricRelabelRules: [],
    discovery: noDiscovery,
    http: plainHttpClient,
    ...given,
  };
}

/** One line a sample, as `name{labels} value @time`; `stale` where a series ends. */
export function batchText(batch: SampleBatch): readonly string[] {
  const { bytes, labelStarts, labelEnds, values } = batch;
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  return Array.from({ length: batch.sampleCount }, (_, at) => {
    const series = batch.sampleSeries[at] ?? 0;
    const labels = readLabelBlock(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0);
    const name = labels.find(([key]) => key === "__name__")?.[1] ?? "";
    const rest = labels
      .filter(([key]) => key !== "__name__")
      .map(([key, value]) => `${key}="${value}"`)
      .join(",");
    const value = isStale(words, at) ? "stale" : String(values[at]);
    return `${name}{${rest}} ${value} @${batch.times[at] ?? 0}`;
  });
}

/** What a discovery emits, one after the other; each is waited for. */
export function emitted(discovery: Discovery): { next(): Promise<readonly DiscoveredGroup[]> } {
  const seen: (readonly DiscoveredGroup[])[] = [];
  let tell: (() => void) | undefined;
  discovery.start((groups) => {
    seen.push(groups);
    tell?.();
  });
  return {
    async next() {
      while (seen.length === 0) await new Promise<void>((resolve) => (tell = resolve));
      return seen.shift() ?? [];
    },
  };
}
