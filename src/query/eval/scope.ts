/** A grid within a query run. Subqueries have their own scope. */
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
  /** Counts the samples of a step for the query's statistics. */
  readonly tally: (step: number, samples: number) => void;
  /** Evaluates a node's arguments. */
  readonly evaluate: (expr: Expr, scope: EvalScope) => Promise<Value>;
}

/** The labels of a value that no longer belongs to the metric. With delayed removal the name stays until the end. */
export function dropMetricName(scope: EvalScope, labels: LabelSet): LabelSet {
  return scope.run.options.delayedNameRemoval ? labels : dropMetadata(labels);
}

/** Merges series that became equal when names were dropped. With delayed removal the names are still there. */
export function settle(scope: EvalScope, series: readonly StepSeries[]): readonly StepSeries[] {
  if (scope.run.options.delayedNameRemoval) return series;
  return mergeEqual(series);
}

/** Like `settle`, for operations that change other labels; in instant queries delayed removal checks at the end. */
export function settleAll(scope: EvalScope, series: readonly StepSeries[]): readonly StepSeries[] {
  if (!scope.run.options.delayedNameRemoval || !scope.grid.instant) return mergeEqual(series);
  scope.run.mayHoldEqual = true;
  return series;
}

/** Creates an empty series, counted against the query's memory. */
export function newSeries(scope: EvalScope, labels: LabelSet, dropName: boolean): StepSeries {
  scope.run.takeSeries(1, scope.grid.count);
  return emptySeries(labels, dropName, scope.grid.count);
}

/** Counts a copy of a series that shares its values. */
export function takeMask(scope: EvalScope): void {
  scope.run.takeSeries(1, scope.grid.count / 9);
}

/** Visits series one by one and yields to the event loop when it is due. */
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

/** The selected series of a selector. */
export function seriesOf(expr: VectorSelector, scope: EvalScope): readonly SelectedSeries[] {
  const series = scope.run.selected.get(expr);
  if (series === undefined) throw new Error("BUG: selector was not selected");
  return series;
}

/** A series' samples, valid until the next peek or the next await. */
export function peekAt(series: SelectedSeries): SampleColumn {
  return series.peek?.() ?? series.column;
}

/** The selection timestamp of each step. */
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

/** A column without its staleness markers: instant selectors end at them, ranges skip them. */
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
