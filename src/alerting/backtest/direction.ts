/** True if a rule alerts on low values, so that its worst value is the smallest. */
import { type Expr, withoutParens } from "../../query/ast.ts";
import { parse } from "../../query/parse/parse.ts";

export const isBelow = (expr: string): boolean => below(parse(expr));

function below(given: Expr): boolean {
  const expr = withoutParens(given);
  if (expr.kind !== "binary") return false;
  if (["and", "or", "unless"].includes(expr.op)) return below(expr.lhs);
  return expr.op === "<" || expr.op === "<=";
}
