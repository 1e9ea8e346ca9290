/** What the crash test's writer writes, known to its judge as well. */
import {
  customSchema,
  type Histogram,
  noBounds,
  noBuckets,
} from "../../src/model/histogram/histogram.ts";
import { type LabelSet, labelSet } from "../../src/model/labels.ts";
import type { RetentionRule } from "../../src/storage/embedded/rules.ts";

export const batchSeries = 40;
export const batchMs = (batch: number): number => 1_700_000_000_000 + batch * 1000;
/** Two minutes apart, so that hours are sealed and rolled up in the middle of kills. */
export const sparseBatchMs = (batch: number): number => 1_700_000_000_000 + batch * 120_000;

/** A part of the series changes its name every 50 batches: new series come all the time. */
export function batchLabels(batch: number, series: number): LabelSet {
  const churn = series % 8 === 0 ? String(Math.floor(batch / 50)) : undefined;
  return labelSet({ __name__: "kept", series: String(series), churn });
}

/** A series that a rule retains for less long than the others: one sample a batch. */
export const briefLabels = labelSet({ __name__: "brief" });
export const briefRule: RetentionRule = {
  match: "brief",
  matchers: [{ name: "__name__", op: "=", value: "brief" }],
  retentionMs: 6 * 3_600_000,
  rollupRetentionMs: 6 * 3_600_000,
};

/** Series from this one on are native histograms. */
export const firstHistogramSeries = 30;

/** Of some the buckets come and go, of others the schema changes; late ones differ in their count. */
export function batchHistogram(batch: number, series: number, isLate = false): Histogram {
  const buckets = 3 + ((batch + series) % 5);
  const indexes = Int32Array.from({ length: buckets }, (_, at) => at * 2 - (series % 4));
  const counts = Float64Array.from(indexes, (_, at) => batch * (at + 1) + (series % 3) / 2);
  return {
    resetHint: series % 4 === 0 ? "gauge" : "unknown",
    schema: series % 5 === 0 ? customSchema : Math.floor(batch / 70) % 4,
    zeroThreshold: 0.001,
    zeroCount: batch % 7,
    count: batch * 20 + series + (isLate ? 0.5 : 0),
    sum: batchValue(batch, series),
    positive: { indexes, counts },
    negative: series % 3 === 0 ? { indexes, counts: counts.slice().reverse() } : noBuckets,
    bounds:
      series % 5 === 0
        ? Float64Array.of(0.1, 0.5, 1, 5, 10, 50, 100, 500, 1000, 5000, 1e4, 1e5)
        : noBounds,
  };
}

export const batchValue = (batch: number, series: number): number =>
  Math.round(Math.sin(batch * 7 + series) * 1000) / (series % 5 === 0 ? 7 : 10);
