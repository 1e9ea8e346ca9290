/**
 * Resolves what depends only on the query's times: start(), end() and similar, duration expressions, @ start() and @
 * end().
 */
import type { DurationExpr, DurationNode, Expr, TimeShift } from "../ast.ts";
import { QueryError } from "../errors.ts";
import { goMax, goMin, goPow } from "./arithmetic.ts";

export interface QueryTimes {
  readonly startMs: number;
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
}

/** Modifies the AST in place. */
export function prepare(expr: Expr, times: QueryTimes): Expr {
  const again = (inner: Expr): Expr => prepare(inner, times);
  switch (expr.kind) {
    case "number":
    case "string":
      return expr;
    case "vector":
      settleShift(expr, times);
      return expr;
    case "matrix":
      settleShift(expr.selector, times);
      if (expr.rangeExpr !== undefined) expr.rangeMs = durationMs(expr.rangeExpr, times, true);
      return expr;
    case "subquery":
      settleShift(expr, times);
      if (expr.rangeExpr !== undefined) expr.rangeMs = durationMs(expr.rangeExpr, times, true);
      if (expr.stepExpr !== undefined) expr.stepMs = durationMs(expr.stepExpr, times, true);
      expr.expr = again(expr.expr);
      return expr;
    case "call": {
      const value = constantOf(expr.name, times);
      if (value !== undefined) return { kind: "number", value, duration: false, span: expr.span };
      expr.args = expr.args.map(again);
      return expr;
    }
    case "aggregate":
      if (expr.param !== undefined) expr.param = again(expr.param);
      expr.expr = again(expr.expr);
      return expr;
    case "binary":
      expr.lhs = again(expr.lhs);
      expr.rhs = again(expr.rhs);
      return expr;
    case "unary":
    case "paren":
      expr.expr = again(expr.expr);
      return expr;
  }
}

function constantOf(name: string, times: QueryTimes): number | undefined {
  if (name === "start") return times.startMs / 1000;
  if (name === "end") return times.endMs / 1000;
  if (name === "range") return (times.endMs - times.startMs) / 1000;
  if (name === "step") return times.startMs === times.endMs ? 0 : times.stepMs / 1000;
  return undefined;
}

function settleShift(shift: TimeShift, times: QueryTimes): void {
  if (shift.offsetExpr !== undefined) shift.offsetMs = durationMs(shift.offsetExpr, times);
  if (shift.atEdge !== undefined)
    shift.atMs = shift.atEdge === "start" ? times.startMs : times.endMs;
}

function durationMs(expr: DurationExpr, times: QueryTimes, isPositive = false): number {
  const seconds = secondsOf(expr, times);
  if (!Number.isFinite(seconds)) bad(expr, "duration is NaN or infinite");
  if (isPositive && seconds <= 0) bad(expr, "duration must be greater than 0");
  if (Math.abs(seconds) > 2 ** 63 / 1e9) bad(expr, "duration is out of range");
  return Math.trunc(seconds * 1000);
}

function secondsOf(node: DurationNode, times: QueryTimes): number {
  if (node.kind === "number") return node.value;
  const lhs = node.lhs === undefined ? 0 : secondsOf(node.lhs, times);
  const rhs = node.rhs === undefined ? 0 : secondsOf(node.rhs, times);
  switch (node.op) {
    case "step":
      return times.stepMs / 1000;
    case "range":
      return (times.endMs - times.startMs) / 1000;
    case "min_of":
      return goMin(lhs, rhs);
    case "max_of":
      return goMax(lhs, rhs);
    case "+":
      return lhs + rhs;
    case "-":
      return node.lhs === undefined ? -rhs : lhs - rhs;
    case "*":
      return lhs * rhs;
    case "/":
      return rhs === 0 ? bad(node, "division by zero") : lhs / rhs;
    case "%":
      return rhs === 0 ? bad(node, "modulo by zero") : lhs % rhs;
    case "^":
      return goPow(lhs, rhs);
  }
}

function bad(expr: DurationExpr, problem: string): never {
  // Offsets instead of line and column, as in Prometheus.
  throw new QueryError("bad_data", `${expr.span.start}:${expr.span.end}: ${problem}`);
}
