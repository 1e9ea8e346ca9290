/** Operators with a native histogram on one side or on both. */
import { add, divide, multiply, subtract } from "../../../model/histogram/arithmetic.ts";
import { compact, equalHistograms, type Histogram } from "../../../model/histogram/histogram.ts";
import { trim } from "../../../model/histogram/trim.ts";
import type { Annotations } from "../../annotations.ts";
import type { Binary } from "../../ast.ts";

export type HistogramOperand = number | Histogram;

type Note = (annotations: Annotations) => void;

/** The annotations of an operator: at each step, the last one in series order counts, as in Prometheus. */
export class StepNotes {
  readonly #notes = new Map<number, { readonly order: number; readonly note: Note }>();

  put(step: number, order: number, note: Note): void {
    const before = this.#notes.get(step);
    if (before === undefined || before.order <= order) this.#notes.set(step, { order, note });
  }

  addTo(annotations: Annotations): void {
    for (const { note } of this.#notes.values()) note(annotations);
  }
}

/**
 * Returns the result; for a comparison, whether the left side stays. Returns undefined and adds a note for invalid
 * operands.
 */
export function operateOnHistograms(
  expr: Binary,
  left: HistogramOperand,
  right: HistogramOperand,
  put: (note: Note) => void,
): Histogram | boolean | undefined {
  const { op, span } = expr;
  const isLeftFloat = typeof left === "number";
  const isRightFloat = typeof right === "number";
  if (!isLeftFloat && !isRightFloat) {
    if (op === "==") return equalHistograms(left, right);
    if (op === "!=") return !equalHistograms(left, right);
    if (op === "+" || op === "-") return combined(expr, left, right, put);
  } else if (!isLeftFloat && isRightFloat) {
    if (op === "*") return compact(multiply(left, right));
    if (op === "/") return compact(divide(left, right));
    if (op === "</") return trim(left, right, "below");
    if (op === ">/") return trim(left, right, "above");
  } else if (isLeftFloat && !isRightFloat && op === "*") return compact(multiply(right, left));
  const kind = (isNumber: boolean): string => (isNumber ? "float" : "histogram");
  put((to) => to.incompatibleTypes(kind(isLeftFloat), op, kind(isRightFloat), span));
  return undefined;
}

function combined(
  { op, span }: Binary,
  left: Histogram,
  right: Histogram,
  put: (note: Note) => void,
): Histogram | undefined {
  const result = op === "+" ? add(left, right) : subtract(left, right);
  const operation = op === "+" ? "addition" : "subtraction";
  if (result === undefined) {
    put((to) => to.incompatibleBuckets(op, span));
    return undefined;
  }
  // As in Prometheus, there is no result if the operands disagree about a reset.
  if (result.resetCollision) {
    put((to) => to.resetCollision(operation, span));
    return undefined;
  }
  if (result.boundsReconciled) put((to) => to.boundsReconciled(operation, span));
  const { histogram } = result;
  return compact(op === "-" ? { ...histogram, resetHint: "gauge" } : histogram);
}
