/** Instant selectors: at each step the newest sample within the look-back, unless the series ended there. */
import type { VectorSelector } from "../ast.ts";
import type { Column, SelectedSeries } from "../../store/select.ts";
import { timeAt } from "./grid.ts";
import type { Scope } from "./scope.ts";
import { smoothSelector } from "./smooth.ts";
import { emptySeries, type StepSeries } from "./value.ts";

export async function evalSelector(
  expr: VectorSelector,
  scope: Scope,
): Promise<readonly StepSeries[]> {
  if (expr.smoothed) return smoothSelector(expr, scope);
  return newestOf(
    seriesOf(expr, scope),
    scope,
    refTimes(expr, scope),
    (column, index) => column.values[index] ?? 0,
  );
}

/** The time of each chosen sample, in seconds, in place of its value. */
export async function evalTimestamps(
  expr: VectorSelector,
  scope: Scope,
): Promise<readonly StepSeries[]> {
  const times = refTimes(expr, scope);
  return newestOf(
    seriesOf(expr, scope),
    scope,
    times,
    (column, index) => (column.times[index] ?? 0) / 1000,
  );
}

export function seriesOf(expr: VectorSelector, scope: Scope): readonly SelectedSeries[] {
  const series = scope.run.selected.get(expr);
  if (series === undefined) throw new Error("BUG: selector was not asked for");
  return series;
}

/** The instant each step looks at. */
export function refTimes(
  shift: { readonly atMs?: number | undefined; readonly offsetMs: number },
  scope: Scope,
): Float64Array {
  const refs = new Float64Array(scope.grid.count);
  for (let step = 0; step < refs.length; step++) {
    refs[step] = (shift.atMs ?? timeAt(scope.grid, step)) - shift.offsetMs;
  }
  return refs;
}

export async function newestOf(
  selected: readonly SelectedSeries[],
  scope: Scope,
  refs: Float64Array,
  pick: (column: Column, index: number) => number,
): Promise<readonly StepSeries[]> {
  const { run, grid } = scope;
  // Series scraped together share their times: the search is done once for all of them.
  const found = new Map<Float64Array, Int32Array>();
  const out: StepSeries[] = [];
  for (const { labels, column } of selected) {
    await run.breathe();
    let indexes = found.get(column.times);
    if (indexes === undefined) {
      indexes = newestIndexes(column.times, refs, run.options.lookbackMs);
      found.set(column.times, indexes);
    }
    const series = emptySeries(labels, false, grid.count);
    let samples = 0;
    for (let step = 0; step < grid.count; step++) {
      const index = indexes[step] ?? -1;
      if (index < 0 || column.stale?.[index] === 1) continue;
      series.values[step] = pick(column, index);
      series.present[step] = 1;
      samples++;
      if (scope.top && run.samplesPerStep !== undefined) run.samplesPerStep[step]! += 1;
    }
    run.totalSamples += samples;
    run.hold(samples);
    if (samples > 0) out.push(series);
  }
  return out;
}

/** For each instant the index of the newest sample in (instant - lookback, instant], or -1. Instants never go back. */
export function newestIndexes(
  times: Float64Array,
  refs: Float64Array,
  lookbackMs: number,
): Int32Array {
  const indexes = new Int32Array(refs.length).fill(-1);
  let index = firstAfter(times, refs[0] ?? 0) - 1;
  for (let step = 0; step < refs.length; step++) {
    const ref = refs[step] ?? 0;
    while (index + 1 < times.length && (times[index + 1] ?? 0) <= ref) index++;
    if (index >= 0 && (times[index] ?? 0) > ref - lookbackMs) indexes[step] = index;
  }
  return indexes;
}

/** The first index whose time is later. */
export function firstAfter(times: Float64Array, timeMs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > timeMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
