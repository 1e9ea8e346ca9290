/** A grid to evaluate on within a run. Subqueries open a scope of their own. */
import type { Expr, VectorSelector } from "../ast.ts";
import type { LabelSet } from "../../model/labels.ts";
import { dropMetadata } from "../labels.ts";
import { type Grid, timeAt } from "./grid.ts";
import type { QueryRun } from "./run.ts";
import { emptySeries, mergeEqual, type StepSeries, type Value } from "./value.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";

export interface EvalScope {
  readonly run: QueryRun;
  readonly grid: Grid;
  /** Counts samples looked at for a step, for the query's statistics. */
  readonly tally: (step: number, samples: number) => void;
  /** How a node evaluates its arguments. */
  readonly evaluate: (expr: Expr, scope: EvalScope) => Promise<Value>;
}

/** Labels of a value that is no longer the metric's own. With delayed removal the name stays until the end. */
export function dropMetricName(scope: EvalScope, labels: LabelSet): LabelSet {
  return scope.run.options.delayedNameRemoval ? labels : dropMetadata(labels);
}

/** After names went, series may have become equal. With delayed removal they have not gone yet. */
export function settle(scope: EvalScope, series: readonly StepSeries[]): readonly StepSeries[] {
  if (scope.run.options.delayedNameRemoval) return series;
  return mergeEqual(series);
}

/** The same for what can make labels equal by other means; at one instant delayed removal finds that at the end. */
export function settleAll(scope: EvalScope, series: readonly StepSeries[]): readonly StepSeries[] {
  if (!scope.run.options.delayedNameRemoval || !scope.grid.instant) return mergeEqual(series);
  scope.run.mayHoldEqual = true;
  return series;
}

/** A series to be filled, counted against the query's memory. */
export function newSeries(scope: EvalScope, labels: LabelSet, dropName: boolean): StepSeries {
  scope.run.takeSeries(1, scope.grid.count);
  return emptySeries(labels, dropName, scope.grid.count);
}

/** Counts a copy of a series that shares its values. */
export function takeMask(scope: EvalScope): void {
  scope.run.takeSeries(1, scope.grid.count / 9);
}

/** Visits series one by one, letting the event loop turn when it is time. */
export async function eachSeries(
  scope: EvalScope,
  series: readonly StepSeries[],
  visit: (one: StepSeries) => void,
): Promise<void> {
  for (const one of series) {
    if (scope.run.isDue()) await scope.run.breathe();
    visit(one);
  }
}

/** The selected series of a selector, and the instant that each step looks at. */
export function seriesOf(expr: VectorSelector, scope: EvalScope): readonly SelectedSeries[] {
  const series = scope.run.selected.get(expr);
  if (series === undefined) throw new Error("BUG: selector was not selected");
  return series;
}

/** A series' samples, good until the next peek or the next wait. */
export function peekAt(series: SelectedSeries): SampleColumn {
  return series.peek?.() ?? series.column;
}

/** The instant each step looks at. */
export function refTimes(
  shift: { readonly atMs?: number | undefined; readonly offsetMs: number },
  scope: EvalScope,
): Float64Array {
  const refs = new Float64Array(scope.grid.count);
  for (let step = 0; step < refs.length; step++) {
    refs[step] = (shift.atMs ?? timeAt(scope.grid, step)) - shift.offsetMs;
  }
  return refs;
}

/** A column without its staleness markers: instants see the end of a series, ranges skip it. */
export function withoutStale(column: SampleColumn): Omit<SampleColumn, "stale"> {
  const { times, values, stale, histograms } = column;
  if (stale === undefined || !stale.includes(1)) return column;
  const keep: number[] = [];
  for (let index = 0; index < times.length; index++) if (stale[index] !== 1) keep.push(index);
  return {
    times: Float64Array.from(keep, (index) => times[index] ?? 0),
    values: Float64Array.from(keep, (index) => values[index] ?? 0),
    ...(histograms !== undefined && { histograms: keep.map((index) => histograms[index]) }),
  };
}
