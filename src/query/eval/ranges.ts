/** Range selectors and subqueries as windows: the samples of each series, and the start and end of each step's window. */
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { MatrixSelector, Subquery } from "../ast.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { metricName } from "../labels.ts";
import { startsAt, type StartTimesBySeries } from "./start-times.ts";
import type { SampleColumn } from "../../model/select.ts";
import { tooManySamples } from "../errors.ts";
import { bytesOfPoints } from "../memory.ts";
import { endOf, gridOf, subqueryStepMs } from "./grid.ts";
import { type EvalScope, peekAt, refTimes, seriesOf, withoutStale } from "./scope.ts";
import { firstAfter } from "./search.ts";
import { asVector, countPresent, histogramAt, isHistogram, type StepSeries } from "./value.ts";

export type RangeSamples = Pick<SampleColumn, "times" | "values" | "histograms" | "rollup"> & {
  readonly starts?: RangeStarts;
};

/** Start times of samples, if they are relevant and known. */
export interface RangeStarts {
  /** Parallel to the samples; 0 if unknown. */
  readonly times: Float64Array;
  /** The series' name in annotations. */
  readonly metric: string;
}

export interface RangeVectorSeries {
  readonly labels: LabelSet;
  readonly dropName: boolean;
  /** Valid until the next series is read, or until the next await. */
  read(): RangeSamples;
}

export interface RangeVector {
  readonly series: readonly RangeVectorSeries[];
  /** The end of each step's window. */
  readonly refs: Float64Array;
  readonly rangeMs: number;
  readonly extended: "anchored" | "smoothed" | undefined;
}

/** Samples inside a subquery are counted by the windows over its result. */
const uncounted = (): void => undefined;

export async function evalRangeVector(
  expr: MatrixSelector | Subquery,
  scope: EvalScope,
): Promise<RangeVector> {
  if (expr.kind === "subquery") {
    const series = await evalSubquery(expr, { ...scope, tally: uncounted });
    return { series, refs: refTimes(expr, scope), rangeMs: expr.rangeMs, extended: undefined };
  }
  const { selector, rangeMs } = expr;
  const starts = scope.run.startTimes.get(selector);
  const series = seriesOf(selector, scope).map((one) => ({
    labels: one.labels,
    dropName: false,
    read: () => withStarts(withoutStale(peekAt(one)), one.labels, starts),
  }));
  const extended = selector.anchored ? "anchored" : selector.smoothed ? "smoothed" : undefined;
  return { series, refs: refTimes(selector, scope), rangeMs, extended };
}

function withStarts(
  samples: RangeSamples,
  labels: LabelSet,
  starts: StartTimesBySeries | undefined,
): RangeSamples {
  const own = starts?.get(labelKey(labels));
  if (own === undefined) return samples;
  return {
    ...samples,
    starts: { times: startsAt(samples.times, own), metric: metricName(labels) },
  };
}

/** Evaluates the subquery on its own grid, aligned to multiples of its step since the epoch. */
async function evalSubquery(
  expr: Subquery,
  scope: EvalScope,
): Promise<readonly RangeVectorSeries[]> {
  const startMs = (expr.atMs ?? scope.grid.startMs) - expr.offsetMs;
  const endMs = (expr.atMs ?? endOf(scope.grid)) - expr.offsetMs;
  const stepMs = subqueryStepMs(scope.run, expr);
  const oldest = startMs - expr.rangeMs;
  let from = stepMs * Math.trunc(oldest / stepMs);
  if (from <= oldest) from += stepMs;
  // A single step within a range query is a range, too.
  const grid = { ...gridOf(from, endMs, stepMs), instant: from === endMs && scope.grid.instant };
  // A single series would exceed the limit already, so this fails before anything is allocated.
  if (grid.count > scope.run.options.maxSamples) throw tooManySamples();
  if (grid.count === 0) return [];
  const inner = asVector(await scope.evaluate(expr.expr, { ...scope, grid }));
  const all = new Float64Array(grid.count).map((_, step) => from + step * stepMs);
  return inner.map((one) => compact(one, all, scope));
}

function compact(one: StepSeries, all: Float64Array, scope: EvalScope): RangeVectorSeries {
  const { labels, dropName, present } = one;
  const count = countPresent(present);
  if (count === present.length) {
    const samples = withHistograms(all, one.values, byKind(one));
    return { labels, dropName, read: () => samples };
  }
  scope.run.options.memory.take(bytesOfPoints(1, count));
  const times = new Float64Array(count);
  const values = new Float64Array(count);
  const histograms = byKind(one)?.filter((_, step) => present[step] !== 0);
  let at = 0;
  for (let step = 0; step < present.length; step++) {
    if (present[step] === 0) continue;
    times[at] = all[step] ?? 0;
    values[at++] = one.values[step] ?? 0;
  }
  const samples = withHistograms(times, values, histograms);
  return { labels, dropName, read: () => samples };
}

const byKind = (one: StepSeries): RangeSamples["histograms"] =>
  one.present.includes(isHistogram)
    ? one.histograms?.map((_, step) => withoutNeighbour(histogramAt(one, step)))
    : undefined;

/** The sample that the hint refers to may be between two steps, and a reset with it. */
const withoutNeighbour = (histogram: Histogram | undefined): Histogram | undefined =>
  histogram?.resetHint === "no-reset" ? { ...histogram, resetHint: "unknown" } : histogram;

const withHistograms = (
  times: Float64Array,
  values: Float64Array,
  histograms: RangeSamples["histograms"],
): RangeSamples => (histograms === undefined ? { times, values } : { times, values, histograms });

export interface StepWindows {
  /** Index of the first sample of each step's window, and the index after its last. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Number of samples in all windows together, and in the largest. */
  readonly total: number;
  readonly largest: number;
}

/** Windows are left-open: (end - range, end]. */
export function windowsOf(
  times: Float64Array,
  ranged: RangeVector,
  lookbackMs: number,
): StepWindows {
  const { refs, rangeMs, extended } = ranged;
  const before = rangeMs + (extended === undefined ? 0 : lookbackMs);
  const after = extended === "smoothed" ? lookbackMs : 0;
  const from = new Int32Array(refs.length);
  const to = new Int32Array(refs.length);
  let low = firstAfter(times, (refs[0] ?? 0) - before);
  let high = firstAfter(times, (refs[0] ?? 0) + after);
  let [total, largest] = [0, 0];
  for (let step = 0; step < refs.length; step++) {
    const ref = refs[step] ?? 0;
    while (low < times.length && (times[low] ?? 0) <= ref - before) low++;
    while (high < times.length && (times[high] ?? 0) <= ref + after) high++;
    from[step] = low;
    to[step] = Math.max(low, high);
    const size = Math.max(0, high - low);
    total += size;
    if (size > largest) largest = size;
  }
  return { from, to, total, largest };
}
