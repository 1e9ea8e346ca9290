/** The step of a subquery that names none. */
import type { Subquery } from "../ast.ts";
import type { QueryRun } from "./run.ts";

export function subqueryStepMs(run: QueryRun, expr: Subquery): number {
  return expr.stepMs === 0 ? run.options.defaultSubqueryStepMs : expr.stepMs;
}
