/** The step of a subquery that names none. */
import type { Subquery } from "../ast.ts";
import type { Run } from "./run.ts";

export function subqueryStepMs(run: Run, expr: Subquery): number {
  return expr.stepMs === 0 ? run.options.defaultSubqueryStepMs : expr.stepMs;
}
