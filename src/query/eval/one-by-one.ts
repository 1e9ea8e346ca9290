/**
 * Visits the series of a selector, or of a range function, one after the other: each is valid until the next one
 * comes. For callers that store few of them, or none.
 */
import { withoutParens, type Call, type Expr } from "../ast.ts";
import { isInvariant } from "./invariant.ts";
import type { EvalScope } from "./scope.ts";
import { visitSelector } from "./selector.ts";
import type { StepSeries } from "./value.ts";
import { isVisitable, visitWindows } from "./windows/run.ts";

export function comesOneByOne(expr: Expr, scope: EvalScope): boolean {
  const inner = withoutParens(expr);
  // A step-invariant expression is evaluated once, elsewhere.
  if (!scope.grid.instant && isInvariant(inner)) return false;
  return inner.kind === "vector"
    ? !inner.smoothed
    : inner.kind === "call" && isVisitable(inner, scope);
}

export async function visitOneByOne(
  given: Expr,
  scope: EvalScope,
  visit: (series: StepSeries) => void,
): Promise<void> {
  const expr = withoutParens(given);
  await scope.run.breathe();
  if (expr.kind === "vector") return visitSelector(expr, scope, visit);
  if (expr.kind !== "call") throw new Error("BUG: not every kind comes one by one");
  const call: Call = { ...expr, args: expr.args.map(withoutParens) };
  return visitWindows(call, scope, visit);
}
