/** The operators on two floats. */
import type { BinaryOp } from "../../ast.ts";
import { goPow } from "../arithmetic.ts";

export type Operate = (left: number, right: number) => number;
export type Compare = (left: number, right: number) => boolean;

const arithmetic: Readonly<Record<string, Operate>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left % right,
  "^": goPow,
  atan2: Math.atan2,
};

const comparisons: Readonly<Record<string, Compare>> = {
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
  ">": (left, right) => left > right,
  "<": (left, right) => left < right,
  ">=": (left, right) => left >= right,
  "<=": (left, right) => left <= right,
};

export function arithmeticOf(op: BinaryOp): Operate | undefined {
  return arithmetic[op];
}

export function comparisonOf(op: BinaryOp): Compare | undefined {
  return comparisons[op];
}

/** Between scalars a comparison returns 1 or 0. */
export function scalarOp(op: BinaryOp): Operate {
  const operate = arithmetic[op];
  if (operate !== undefined) return operate;
  const compare = comparisons[op];
  if (compare !== undefined) return (left, right) => (compare(left, right) ? 1 : 0);
  throw new Error(`BUG: ${op} between scalars`);
}
