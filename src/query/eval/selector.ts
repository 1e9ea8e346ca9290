/** Instant selectors: at each step the newest sample within the look-back, unless the series ended there. */
import type { VectorSelector } from "../ast.ts";
import type { Column, SelectedSeries } from "../../store/select.ts";
import { refTimes, seriesOf } from "./lookup.ts";
import type { Scope } from "./scope.ts";
import { newestIndexes } from "./search.ts";
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
    if (run.isDue()) await run.breathe();
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
      scope.tally(step, 1);
    }
    run.hold(samples);
    if (samples > 0) out.push(series);
  }
  return out;
}
