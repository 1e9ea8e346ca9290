/**
 * Visits the series of a selector or a range function one by one: each is valid until the next visit. For callers that
 * retain few of them or none.
 */
import { withoutParens, type Call, type Expr } from "../ast.ts";
import { sharedShift } from "./functions/info.ts";
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

/** Their result depends on the evaluation time even if their arguments do not. */
const unsafe: ReadonlySet<string> = new Set(
  (
    "days_in_month day_of_month day_of_week day_of_year end hour minute month year predict_linear range start step " +
    "time timestamp"
  ).split(" "),
);

const known = new WeakMap<Expr, boolean>();

/** True for expressions with the same value at every step (all selectors pinned by @), so that they are evaluated once. */
export function isInvariant(expr: Expr): boolean {
  const before = known.get(expr);
  if (before !== undefined) return before;
  const answer = decide(expr);
  known.set(expr, answer);
  return answer;
}

function decide(expr: Expr): boolean {
  switch (expr.kind) {
    case "number":
    case "string":
      return true;
    case "vector":
    case "subquery":
      return expr.atMs !== undefined;
    case "matrix":
      return expr.selector.atMs !== undefined;
    case "aggregate":
    case "unary":
    case "paren":
      return isInvariant(expr.expr);
    case "binary":
      return isInvariant(expr.lhs) && isInvariant(expr.rhs);
    case "call": {
      const args = expr.args.map(withoutParens);
      // Its second argument selects nothing by itself; info series of different times depend on the step.
      if (expr.name === "info")
        return args[0] !== undefined && isInvariant(args[0]) && sharedShift(args[0]) !== undefined;
      if (!args.every(isInvariant)) return false;
      if (expr.name === "timestamp") return args[0]?.kind === "vector";
      return !unsafe.has(expr.name);
    }
  }
}
