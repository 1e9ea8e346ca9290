/** Finds expressions that give the same at every step (all selectors pinned by @), so that they are evaluated once. */
import { withoutParens, type Expr } from "../ast.ts";

/** Their result follows the evaluation time even when their arguments do not. */
const unsafe: ReadonlySet<string> = new Set(
  (
    "days_in_month day_of_month day_of_week day_of_year end hour minute month year predict_linear range start step " +
    "time timestamp"
  ).split(" "),
);

const known = new WeakMap<Expr, boolean>();

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
      if (!args.every(isInvariant)) return false;
      if (expr.name === "timestamp") return args[0]?.kind === "vector";
      return !unsafe.has(expr.name);
    }
  }
}
