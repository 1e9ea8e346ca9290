/** Settles what only the query's times decide: start() and its kin, duration expressions, @ start() and @ end(). */
import type { DurationExpr, DurationNode, Expr, TimeShift } from "../ast.ts";
import { position, QueryError } from "../errors.ts";
import { goMax, goMin, goPow } from "./arithmetic.ts";

export interface QueryTimes {
  readonly startMs: number;
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
}

/** Changes the tree it is given. */
export function prepare(query: string, expr: Expr, times: QueryTimes): Expr {
  const again = (inner: Expr): Expr => prepare(query, inner, times);
  switch (expr.kind) {
    case "number":
    case "string":
      return expr;
    case "vector":
      settleShift(query, expr, times);
      return expr;
    case "matrix":
      settleShift(query, expr.selector, times);
      if (expr.rangeExpr !== undefined) expr.rangeMs = positiveMs(query, expr.rangeExpr, times);
      return expr;
    case "subquery":
      settleShift(query, expr, times);
      if (expr.rangeExpr !== undefined) expr.rangeMs = positiveMs(query, expr.rangeExpr, times);
      if (expr.stepExpr !== undefined) expr.stepMs = positiveMs(query, expr.stepExpr, times);
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

function settleShift(query: string, shift: TimeShift, times: QueryTimes): void {
  if (shift.offsetExpr !== undefined) shift.offsetMs = durationMs(query, shift.offsetExpr, times);
  if (shift.atEdge !== undefined)
    shift.atMs = shift.atEdge === "start" ? times.startMs : times.endMs;
}

function positiveMs(query: string, expr: DurationExpr, times: QueryTimes): number {
  const seconds = secondsOf(query, expr, times);
  if (seconds <= 0) bad(query, expr, "duration must be greater than 0");
  return durationMs(query, expr, times);
}

function durationMs(query: string, expr: DurationExpr, times: QueryTimes): number {
  const seconds = secondsOf(query, expr, times);
  if (!Number.isFinite(seconds)) bad(query, expr, "duration is NaN or infinite");
  if (Math.abs(seconds) > 2 ** 63 / 1e9) bad(query, expr, "duration is out of range");
  return Math.trunc(seconds * 1000);
}

function secondsOf(query: string, node: DurationNode, times: QueryTimes): number {
  if (node.kind === "number") return node.value;
  const lhs = node.lhs === undefined ? 0 : secondsOf(query, node.lhs, times);
  const rhs = node.rhs === undefined ? 0 : secondsOf(query, node.rhs, times);
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
      return rhs === 0 ? bad(query, node, "division by zero") : lhs / rhs;
    case "%":
      return rhs === 0 ? bad(query, node, "modulo by zero") : lhs % rhs;
    case "^":
      return goPow(lhs, rhs);
  }
}

function bad(query: string, expr: DurationExpr, problem: string): never {
  throw new QueryError("bad_data", `${position(query, expr.span.start)}: ${problem}`);
}
