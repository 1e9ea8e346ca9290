/** Histogram functions, for native histograms and for classic ones: series with an `le` label, grouped by their other labels. */
import type { Call, Span } from "../../ast.ts";
import { labelKey, labelValue, type LabelSet } from "../../../model/labels.ts";
import type { Histogram as NativeHistogram } from "../../../model/histogram/histogram.ts";
import { type Estimate, fraction, quantile, variance } from "../../../model/histogram/quantile.ts";
import { dropAll, metricName, withLabel } from "../../labels.ts";
import { printOpenMetrics, readNumber } from "../../number.ts";
import { timeAt } from "../grid.ts";
import {
  eachSeries,
  newSeries,
  dropMetricName,
  settle,
  settleAll,
  type EvalScope,
} from "../scope.ts";
import { histogramAt, isEmpty, isFloat, isHistogram, type StepSeries } from "../value.ts";
import { bucketFraction, bucketQuantile, type CumulativeBucket } from "./buckets.ts";

interface Histogram {
  readonly labels: LabelSet;
  /** The buckets of a classic histogram, sorted by bound. */
  readonly buckets: { readonly bound: number; readonly series: StepSeries }[];
  /** The series of native histograms with these labels. */
  native?: StepSeries;
}

const bucketLabel = new Set(["le"]);

function histogramsOf(
  series: readonly StepSeries[],
  span: Span,
  scope: EvalScope,
): readonly Histogram[] {
  const byKey = new Map<string, Histogram>();
  const at = (labels: LabelSet): Histogram => {
    const key = labelKey(labels);
    let histogram = byKey.get(key);
    if (histogram === undefined) byKey.set(key, (histogram = { labels, buckets: [] }));
    return histogram;
  };
  for (const one of series) {
    if (one.present.includes(isHistogram)) at(one.labels).native = one;
    if (!one.present.includes(isFloat)) continue;
    const label = labelValue(one.labels, "le") ?? "";
    const bound = boundOf(label);
    if (bound === undefined) {
      const name = scope.run.options.delayedNameRemoval ? metricName(one.labels) : "";
      scope.run.annotations.badBucket(label, name, span);
      continue;
    }
    at(dropAll(one.labels, bucketLabel)).buckets.push({ bound, series: one });
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

/** The buckets with a value at the step; empty if there are none. */
function bucketsAt(histogram: Histogram, step: number): CumulativeBucket[] {
  const buckets: CumulativeBucket[] = [];
  for (const { bound, series } of histogram.buckets) {
    if (series.present[step] === isFloat) buckets.push({ bound, count: series.values[step] ?? 0 });
  }
  return buckets;
}

/** A function's implementations for the two kinds of histograms. */
interface HistogramFunctions {
  readonly labels: (histogram: Histogram) => LabelSet;
  readonly classic: (buckets: CumulativeBucket[], step: number, histogram: Histogram) => number;
  readonly native: (native: NativeHistogram, step: number, histogram: Histogram) => number;
}

async function answer(
  histograms: readonly Histogram[],
  span: Span,
  scope: EvalScope,
  answers: HistogramFunctions,
): Promise<StepSeries[]> {
  const all: StepSeries[] = [];
  for (const histogram of histograms) {
    if (scope.run.isDue()) await scope.run.breathe();
    const out = newSeries(scope, answers.labels(histogram), true);
    for (let step = 0; step < scope.grid.count; step++) {
      const buckets = bucketsAt(histogram, step);
      const native = histogram.native && histogramAt(histogram.native, step);
      if (buckets.length > 0 && native !== undefined) {
        scope.run.annotations.classicAndNative(nameOf(histogram, scope), span);
        continue;
      }
      if (native !== undefined) out.values[step] = answers.native(native, step, histogram);
      else if (buckets.length > 0) out.values[step] = answers.classic(buckets, step, histogram);
      else continue;
      out.present[step] = 1;
    }
    all.push(out);
  }
  return all;
}

const nameOf = ({ labels }: Histogram, scope: EvalScope): string =>
  scope.run.options.delayedNameRemoval ? metricName(labels) : "";

/** Returns an estimate's value; adds a note if NaN observations are involved. */
function noted(
  name: "histogram_quantile" | "histogram_fraction",
  { value, nan }: Estimate,
  histogram: Histogram,
  span: Span,
  scope: EvalScope,
): number {
  if (nan !== undefined)
    scope.run.annotations.nanObservations(name, nanEffects[nan], nameOf(histogram, scope), span);
  return value;
}

const nanEffects = {
  "result is NaN": "result is NaN",
  "skewed higher": "result is skewed higher",
  excluded: "which are excluded from all fractions",
} as const;

function quantileAt(
  buckets: CumulativeBucket[],
  q: number,
  step: number,
  histogram: Histogram,
  span: Span,
  scope: EvalScope,
): number {
  const { value, forced } = bucketQuantile(q, buckets);
  if (forced !== undefined) {
    const timeMs = timeAt(scope.grid, step);
    const seen = { fromMs: timeMs, toMs: timeMs, ...forced };
    scope.run.annotations.forcedMonotonic(nameOf(histogram, scope), span, seen);
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
  const out = await answer(histogramsOf(series, span, scope), span, scope, {
    labels: ({ labels }) => dropMetricName(scope, labels),
    classic: (buckets, step, histogram) =>
      quantileAt(buckets, quantiles[step] ?? Number.NaN, step, histogram, span, scope),
    native: (native, step, histogram) =>
      noted(
        "histogram_quantile",
        quantile(quantiles[step] ?? Number.NaN, native),
        histogram,
        span,
        scope,
      ),
  });
  return settle(scope, out);
}

/** Several quantiles at once, distinguished by a label. The label is the quantile, which may differ by step. */
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
      const text = printOpenMetrics(q);
      const found = await answer(histograms, span, scope, {
        labels: ({ labels }) => withLabel(dropMetricName(scope, labels), label, text),
        // The first quantile has already warned about corrected buckets.
        classic: (buckets, step, histogram) =>
          index === 0
            ? quantileAt(buckets, q, step, histogram, span, scope)
            : bucketQuantile(q, buckets).value,
        native: (native, _, histogram) =>
          noted("histogram_quantile", quantile(q, native), histogram, span, scope),
      });
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
  const span = call.args[2]?.span ?? call.span;
  const out = await answer(histogramsOf(series, span, scope), span, scope, {
    labels: ({ labels }) => dropMetricName(scope, labels),
    classic: (buckets, step) =>
      bucketFraction(lower[step] ?? Number.NaN, upper[step] ?? Number.NaN, buckets),
    native: (native, step, histogram) =>
      noted(
        "histogram_fraction",
        fraction(lower[step] ?? Number.NaN, upper[step] ?? Number.NaN, native),
        histogram,
        span,
        scope,
      ),
  });
  return settle(scope, out);
}

/** Functions of one native histogram; floats yield no result. */
export const nativeFunctions: Readonly<Record<string, (histogram: NativeHistogram) => number>> = {
  histogram_avg: ({ sum, count }) => sum / count,
  histogram_count: ({ count }) => count,
  histogram_stddev: (histogram) => Math.sqrt(variance(histogram)),
  histogram_stdvar: variance,
  histogram_sum: ({ sum }) => sum,
};

export async function ofEachNative(
  series: readonly StepSeries[],
  valueOf: (histogram: NativeHistogram) => number,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const out: StepSeries[] = [];
  await eachSeries(scope, series, (one) => {
    const result = newSeries(scope, dropMetricName(scope, one.labels), true);
    for (let step = 0; step < scope.grid.count; step++) {
      const native = histogramAt(one, step);
      if (native === undefined) continue;
      result.values[step] = valueOf(native);
      result.present[step] = isFloat;
    }
    if (!isEmpty(result)) out.push(result);
  });
  return settle(scope, out);
}
