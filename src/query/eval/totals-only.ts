/**
 * Native histograms without their buckets, for `histogram_count`, `histogram_sum` and `histogram_avg`. As in Prometheus
 * they have neither bounds that could differ nor a zero bucket, and every counter reset that the buckets show is a hint.
 */
import { isReset } from "../../model/histogram/arithmetic.ts";
import { type Histogram, noBounds, noBuckets } from "../../model/histogram/histogram.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { childrenOf, type Expr, type VectorSelector } from "../ast.ts";
import { peekAt } from "./scope.ts";

const ofTotals = new Set(["histogram_count", "histogram_sum", "histogram_avg"]);
const ofBuckets = new Set([
  "histogram_quantile",
  "histogram_quantiles",
  "histogram_fraction",
  "histogram_stddev",
  "histogram_stdvar",
]);

/** The selectors whose buckets have no effect on the result of the query. */
export function selectorsOfTotals(expr: Expr): ReadonlySet<VectorSelector> {
  const found = new Set<VectorSelector>();
  visit(expr, false, found);
  return found;
}

function visit(expr: Expr, isOfTotals: boolean, found: Set<VectorSelector>): void {
  if (expr.kind === "vector" && isOfTotals) found.add(expr);
  if (needsBuckets(expr)) return;
  const isWithin = isOfTotals || (expr.kind === "call" && ofTotals.has(expr.name));
  for (const child of childrenOf(expr)) visit(child, isWithin, found);
}

/** In subqueries the buckets show counter resets between steps. */
function needsBuckets(expr: Expr): boolean {
  if (expr.kind === "subquery") return true;
  if (expr.kind === "call") return ofBuckets.has(expr.name);
  return expr.kind === "binary" && (expr.op === "</" || expr.op === ">/");
}

/** @param afterMs the start of the first window or look-back, which does not include it */
export function withTotalsOnly(
  series: readonly SelectedSeries[],
  afterMs: number,
): readonly SelectedSeries[] {
  return series.map((one) => ({
    labels: one.labels,
    get column(): SampleColumn {
      return totalsOf(one.column, afterMs);
    },
    peek: () => totalsOf(peekAt(one), afterMs),
  }));
}

function totalsOf(column: SampleColumn, afterMs: number): SampleColumn {
  const { times, histograms } = column;
  if (histograms === undefined) return column;
  let before: Histogram | undefined;
  return {
    ...column,
    histograms: histograms.map((histogram, at) => {
      if (histogram === undefined) return undefined;
      const totals: Histogram = {
        resetHint: hintOf(histogram, before),
        schema: histogram.schema,
        zeroThreshold: 0,
        zeroCount: 0,
        count: histogram.count,
        sum: histogram.sum,
        positive: noBuckets,
        negative: noBuckets,
        bounds: noBounds,
      };
      if ((times[at] ?? 0) > afterMs) before = histogram;
      return totals;
    }),
  };
}

function hintOf(histogram: Histogram, before: Histogram | undefined): Histogram["resetHint"] {
  if (histogram.resetHint !== "unknown" || before === undefined) return histogram.resetHint;
  return isReset(histogram, before) ? "reset" : "no-reset";
}
