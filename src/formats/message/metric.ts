/** Finds what a sender's name of a metric means here. */
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { SampleSuffix } from "../../model/layout.ts";

/** More names than any catalogue has: from there on they are made anew. */
const keptNames = 10_000;

/** A metric that a later sender has and we do not is kept as a plain number of that name. */
export function resolveMetric(
  name: string,
  plain: Map<string, MetricEntry>,
): { readonly metric: MetricEntry; readonly suffix: SampleSuffix } {
  const known = findMetric(name);
  if (known !== undefined) return { metric: known, suffix: "" };
  for (const suffix of ["_bucket", "_sum", "_count"] as const) {
    const metric = name.endsWith(suffix) ? findMetric(name.slice(0, -suffix.length)) : undefined;
    if (metric?.kind === "histogram") return { metric, suffix };
  }
  let metric = plain.get(name);
  if (metric === undefined) {
    metric = plainMetric(name);
    if (plain.size >= keptNames) plain.clear();
    plain.set(name, metric);
  }
  return { metric, suffix: "" };
}

function plainMetric(name: string): MetricEntry {
  return {
    name,
    kind: "gauge",
    unit: "none",
    help: "Told by a later version.",
    subject: "device",
    tier: "fast",
    resolution: 0.001,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
    labels: [],
    given: {},
  };
}
