/** Instant selectors: at each step the newest sample within the look-back, unless the series ended there. */
import type { VectorSelector } from "../ast.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { peekAt, refTimes, seriesOf, type EvalScope, newSeries, withoutStale } from "./scope.ts";
import { newestIndexes, firstAfter } from "./search.ts";
import {
  countPresent,
  OwnSteps,
  ReusedSteps,
  type Steps,
  type StepSeries,
  isEmpty,
  putHistogram,
} from "./value.ts";
import { interpolate, smoothedHistogram } from "./interpolate.ts";
import { metricName } from "../labels.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { startsAt } from "./start-times.ts";

export async function evalSelector(
  expr: VectorSelector,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  if (expr.smoothed) return smoothSelector(expr, scope);
  return newestOf(seriesOf(expr, scope), scope, refTimes(expr, scope), valueAt);
}

/** Like `evalSelector`, one series at a time, each valid until the next. Not for smoothed selectors. */
export function visitSelector(
  expr: VectorSelector,
  scope: EvalScope,
  visit: (series: StepSeries) => void,
): Promise<void> {
  const steps = new ReusedSteps(scope.grid.count);
  return visitNewest(seriesOf(expr, scope), scope, refTimes(expr, scope), valueAt, steps, visit);
}

/** The timestamp of each selected sample, in seconds, as the value. */
export async function evalTimestamps(
  expr: VectorSelector,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const times = refTimes(expr, scope);
  return newestOf(
    seriesOf(expr, scope),
    scope,
    times,
    (column, index) => (column.times[index] ?? 0) / 1000,
  );
}

/** The start time of each selected sample, in seconds; 0 if unknown. */
export async function evalStartTimes(
  expr: VectorSelector,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const starts = scope.run.startTimes.get(expr);
  const dated = seriesOf(expr, scope).map((one) => ({
    labels: one.labels,
    get column(): SampleColumn {
      const { times, stale } = peekAt(one);
      const own = starts?.get(labelKey(one.labels));
      return { times, values: startsAt(times, own), ...(stale !== undefined && { stale }) };
    },
  }));
  return newestOf(
    dated,
    scope,
    refTimes(expr, scope),
    (column, index) => valueAt(column, index) / 1000,
  );
}

const valueAt = (column: SampleColumn, index: number): number => column.values[index] ?? 0;

/** The value of the selected sample. */
export type Pick = (column: SampleColumn, index: number, labels: LabelSet) => number;

export async function newestOf(
  selected: readonly SelectedSeries[],
  scope: EvalScope,
  refs: Float64Array,
  pick: Pick,
): Promise<readonly StepSeries[]> {
  const out: StepSeries[] = [];
  await scope.run.reserveSeries(selected.length, scope.grid.count);
  await visitNewest(selected, scope, refs, pick, new OwnSteps(scope.grid.count), (series) => {
    scope.run.hold(countPresent(series.present));
    out.push(series);
  });
  scope.run.giveSeries(selected.length - out.length, scope.grid.count);
  return out;
}

async function visitNewest(
  selected: readonly SelectedSeries[],
  scope: EvalScope,
  refs: Float64Array,
  pick: Pick,
  steps: Steps,
  visit: (series: StepSeries) => void,
): Promise<void> {
  const { run } = scope;
  // Series scraped together share their timestamps, so one search serves all of them.
  const found = new Map<Float64Array, Int32Array>();
  let work = 0;
  for (const one of selected) {
    if (run.isDue(work)) await run.breathe();
    const column = peekAt(one);
    work = column.times.length;
    let indexes = found.get(column.times);
    if (indexes === undefined) {
      indexes = newestIndexes(column.times, refs, run.options.lookbackMs);
      found.set(column.times, indexes);
    }
    const series = steps.series(one.labels, false);
    const samples = fill(series, column, indexes, pick);
    tallySteps(series.present, samples, scope);
    if (samples > 0) visit(series);
  }
}

/** Counts one sample at each step that has one; per step only if per-step statistics are requested. */
function tallySteps(present: Uint8Array, samples: number, scope: EvalScope): void {
  if (scope.run.samplesPerStep === undefined) scope.tally(0, samples);
  else present.forEach((is, step) => scope.tally(step, is === 0 ? 0 : 1));
}

function fill(series: StepSeries, column: SampleColumn, indexes: Int32Array, pick: Pick): number {
  const { values, present } = series;
  // Histograms only if the sample itself is selected: its timestamp is a float for every sample.
  const histograms = pick === valueAt ? column.histograms : undefined;
  let samples = 0;
  for (let step = 0; step < indexes.length; step++) {
    const index = indexes[step] as number;
    if (index < 0 || column.stale?.[index] === 1) continue;
    samples++;
    const histogram = histograms?.[index];
    if (histogram !== undefined) {
      putHistogram(series, step, histogram);
      continue;
    }
    values[step] = pick(column, index, series.labels);
    present[step] = 1;
  }
  return samples;
}

/** `x smoothed`: at each step the value interpolated between the samples before and after it. */
async function smoothSelector(
  expr: VectorSelector,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const { lookbackMs } = scope.run.options;
  const refs = refTimes(expr, scope);
  const out: StepSeries[] = [];
  for (const one of seriesOf(expr, scope)) {
    if (scope.run.isDue(refs.length)) await scope.run.breathe();
    const samples = withoutStale(peekAt(one));
    const { times, values, histograms } = samples;
    const series = newSeries(scope, one.labels, false);
    const metric = metricName(one.labels);
    for (let step = 0; step < refs.length; step++) {
      const ref = refs[step] ?? 0;
      const from = firstAfter(times, ref - lookbackMs);
      const to = firstAfter(times, ref + lookbackMs);
      const next = firstAfter(times, ref - 1);
      if (histograms?.slice(from, to).some((each) => each !== undefined)) {
        const histogram = smoothedHistogram(samples, { from, to, next, ref }, metric, {
          annotations: scope.run.annotations,
          span: expr.span,
        });
        if (histogram !== undefined) putHistogram(series, step, histogram);
        continue;
      }
      const value = smoothedValue(times, values, from, to, next, ref);
      if (value === undefined) continue;
      series.values[step] = value;
      series.present[step] = 1;
    }
    if (!isEmpty(series)) out.push(series);
  }
  return out;
}

function smoothedValue(
  times: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
  next: number,
  ref: number,
): number | undefined {
  if (next < to && times[next] === ref) return values[next];
  const before = next - 1;
  if (before < from) return undefined;
  if (next >= to) return values[before];
  return interpolate(times, values, before, next, ref, false);
}
