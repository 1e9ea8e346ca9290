/** Operators with a native histogram on one side or on both. */
import { add, divide, multiply, subtract } from "../../../model/histogram/arithmetic.ts";
import { compact, equalHistograms, type Histogram } from "../../../model/histogram/histogram.ts";
import { trim } from "../../../model/histogram/trim.ts";
import type { Binary } from "../../ast.ts";
import type { EvalScope } from "../scope.ts";

export type Operand = number | Histogram;

/** A comparison answers whether the left side stays; undefined, with a note, where the operator takes no such operands. */
export function operateOnHistograms(
  expr: Binary,
  left: Operand,
  right: Operand,
  scope: EvalScope,
): Histogram | boolean | undefined {
  const { op, span } = expr;
  const { annotations } = scope.run;
  const isLeftFloat = typeof left === "number";
  const isRightFloat = typeof right === "number";
  if (!isLeftFloat && !isRightFloat) {
    if (op === "==") return equalHistograms(left, right);
    if (op === "!=") return !equalHistograms(left, right);
    if (op === "+" || op === "-") return combined(expr, left, right, scope);
  } else if (!isLeftFloat && isRightFloat) {
    if (op === "*") return compact(multiply(left, right));
    if (op === "/") return compact(divide(left, right));
    if (op === "</") return trim(left, right, "below");
    if (op === ">/") return trim(left, right, "above");
  } else if (isLeftFloat && !isRightFloat && op === "*") return compact(multiply(right, left));
  const kind = (isNumber: boolean): string => (isNumber ? "float" : "histogram");
  annotations.incompatibleTypes(kind(isLeftFloat), op, kind(isRightFloat), span);
  return undefined;
}

function combined(
  { op, span }: Binary,
  left: Histogram,
  right: Histogram,
  { run: { annotations } }: EvalScope,
): Histogram | undefined {
  const result = op === "+" ? add(left, right) : subtract(left, right);
  const operation = op === "+" ? "addition" : "subtraction";
  if (result === undefined) {
    annotations.incompatibleBuckets(op, span);
    return undefined;
  }
  // As in Prometheus, nothing is left where the operands disagree about a reset.
  if (result.resetCollision) {
    annotations.resetCollision(operation, span);
    return undefined;
  }
  if (result.boundsReconciled) annotations.boundsReconciled(operation, span);
  const { histogram } = result;
  return compact(op === "-" ? { ...histogram, resetHint: "gauge" } : histogram);
}
