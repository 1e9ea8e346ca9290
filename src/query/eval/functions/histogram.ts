/** Quantiles and fractions of classic histograms: series with an `le` label, grouped by their other labels. */
import type { Call, Span } from "../../ast.ts";
import { labelKey, labelValue, type LabelSet } from "../../../model/labels.ts";
import { dropAll, metricName, withLabel } from "../../labels.ts";
import { printOpenMetrics, readNumber } from "../../number.ts";
import { timeAt } from "../grid.ts";
import { newSeries, dropMetricName, settle, settleAll, type EvalScope } from "../scope.ts";
import { isEmpty, type StepSeries } from "../value.ts";
import { bucketFraction, bucketQuantile, type Bucket } from "./buckets.ts";

interface Histogram {
  readonly labels: LabelSet;
  /** Sorted by bound. */
  readonly buckets: { readonly bound: number; readonly series: StepSeries }[];
}

const bucketLabel = new Set(["le"]);

function histogramsOf(
  series: readonly StepSeries[],
  span: Span,
  scope: EvalScope,
): readonly Histogram[] {
  const byKey = new Map<string, Histogram>();
  for (const one of series) {
    if (isEmpty(one)) continue;
    const label = labelValue(one.labels, "le") ?? "";
    const bound = boundOf(label);
    if (bound === undefined) {
      const name = scope.run.options.delayedNameRemoval ? metricName(one.labels) : "";
      scope.run.annotations.badBucket(label, name, span);
      continue;
    }
    const labels = dropAll(one.labels, bucketLabel);
    const key = labelKey(labels);
    let histogram = byKey.get(key);
    if (histogram === undefined) byKey.set(key, (histogram = { labels, buckets: [] }));
    histogram.buckets.push({ bound, series: one });
  }
  for (const { buckets } of byKey.values())
    buckets.sort((a, b) => (a.bound < b.bound ? -1 : a.bound > b.bound ? 1 : 0));
  return [...byKey.values()];
}

function boundOf(label: string): number | undefined {
  const sign = /^[-+]/.exec(label)?.[0];
  const value = readNumber(
    sign === undefined ? label : label.slice(1).replace(/^infinity$/i, "inf"),
  );
  if (value === undefined)
    return /^[-+]?infinity$/i.test(label) ? (sign === "-" ? -Infinity : Infinity) : undefined;
  return sign === "-" ? -value : value;
}

/** The buckets that have a value at the step; empty when none has. */
function bucketsAt(histogram: Histogram, step: number): Bucket[] {
  const buckets: Bucket[] = [];
  for (const { bound, series } of histogram.buckets) {
    if (series.present[step] === 1) buckets.push({ bound, count: series.values[step] ?? 0 });
  }
  return buckets;
}

async function answer(
  histograms: readonly Histogram[],
  scope: EvalScope,
  labelsOf: (histogram: Histogram) => LabelSet,
  valueAt: (buckets: Bucket[], step: number, histogram: Histogram) => number,
): Promise<StepSeries[]> {
  const all: StepSeries[] = [];
  for (const histogram of histograms) {
    if (scope.run.isDue()) await scope.run.breathe();
    const out = newSeries(scope, labelsOf(histogram), true);
    for (let step = 0; step < scope.grid.count; step++) {
      const buckets = bucketsAt(histogram, step);
      if (buckets.length === 0) continue;
      out.values[step] = valueAt(buckets, step, histogram);
      out.present[step] = 1;
    }
    all.push(out);
  }
  return all;
}

function quantileAt(
  buckets: Bucket[],
  q: number,
  step: number,
  histogram: Histogram,
  span: Span,
  scope: EvalScope,
): number {
  const { value, forced } = bucketQuantile(q, buckets);
  if (forced !== undefined) {
    const timeMs = timeAt(scope.grid, step);
    const name = scope.run.options.delayedNameRemoval ? metricName(histogram.labels) : "";
    scope.run.annotations.forcedMonotonic(name, span, { fromMs: timeMs, toMs: timeMs, ...forced });
  }
  return value;
}

function checkQuantiles(quantiles: Float64Array, span: Span, scope: EvalScope): void {
  for (const q of quantiles)
    if (!(q >= 0 && q <= 1)) scope.run.annotations.invalidQuantile(q, span);
}

export async function histogramQuantile(
  quantiles: Float64Array,
  series: readonly StepSeries[],
  call: Call,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const span = call.args[1]?.span ?? call.span;
  checkQuantiles(quantiles, call.args[0]?.span ?? call.span, scope);
  const out = await answer(
    histogramsOf(series, span, scope),
    scope,
    ({ labels }) => dropMetricName(scope, labels),
    (buckets, step, histogram) =>
      quantileAt(buckets, quantiles[step] ?? Number.NaN, step, histogram, span, scope),
  );
  return settle(scope, out);
}

/** Several quantiles at once, distinguished by a label. The label follows the quantile, which may differ by step. */
export async function histogramQuantiles(
  series: readonly StepSeries[],
  label: string,
  quantiles: readonly Float64Array[],
  call: Call,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const span = call.args[0]?.span ?? call.span;
  for (const [index, each] of quantiles.entries())
    checkQuantiles(each, call.args[index + 2]?.span ?? span, scope);
  const histograms = histogramsOf(series, span, scope);
  const out: StepSeries[] = [];
  for (const [index, steps] of quantiles.entries()) {
    for (const q of new Set(steps)) {
      const quantile = printOpenMetrics(q);
      const found = await answer(
        histograms,
        scope,
        ({ labels }) => withLabel(dropMetricName(scope, labels), label, quantile),
        // The first quantile has warned of buckets that had to be corrected.
        (buckets, step, histogram) =>
          index === 0
            ? quantileAt(buckets, q, step, histogram, span, scope)
            : bucketQuantile(q, buckets).value,
      );
      out.push(
        ...found.map((one) => ({
          ...one,
          present: one.present.map((p, step) => (Object.is(steps[step], q) ? p : 0)),
        })),
      );
    }
  }
  return settleAll(scope, out);
}

export async function histogramFraction(
  lower: Float64Array,
  upper: Float64Array,
  series: readonly StepSeries[],
  call: Call,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const out = await answer(
    histogramsOf(series, call.args[2]?.span ?? call.span, scope),
    scope,
    ({ labels }) => dropMetricName(scope, labels),
    (buckets, step) =>
      bucketFraction(lower[step] ?? Number.NaN, upper[step] ?? Number.NaN, buckets),
  );
  return settle(scope, out);
}
