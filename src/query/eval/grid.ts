/** The evaluation timestamps of a query: evenly spaced, both ends included. A single timestamp is a grid of one. */
import type { Subquery } from "../ast.ts";
import type { QueryRun } from "./run.ts";

export interface Grid {
  readonly startMs: number;
  /** As requested; the last step may be earlier. */
  readonly endMs: number;
  readonly stepMs: number;
  readonly count: number;
  /** True for an instant query. A range shorter than its step also has one step, but is a range. */
  readonly instant: boolean;
}

export function gridOf(startMs: number, endMs: number, stepMs: number): Grid {
  const instant = startMs === endMs;
  if (endMs < startMs) return { startMs, endMs, stepMs, count: 0, instant };
  const count = stepMs > 0 ? Math.floor((endMs - startMs) / stepMs) + 1 : 1;
  return { startMs, endMs, stepMs, count, instant };
}

export function timeAt(grid: Grid, index: number): number {
  return grid.startMs + index * grid.stepMs;
}

/** The last step. */
export function endOf(grid: Grid): number {
  return grid.startMs + Math.max(0, grid.count - 1) * grid.stepMs;
}

export function firstOf(grid: Grid): Grid {
  return { ...grid, endMs: grid.startMs, count: Math.min(1, grid.count), instant: true };
}

/** The step of a subquery without an explicit one is the default. */
export function subqueryStepMs(run: QueryRun, expr: Subquery): number {
  return expr.stepMs === 0 ? run.options.defaultSubqueryStepMs : expr.stepMs;
}
