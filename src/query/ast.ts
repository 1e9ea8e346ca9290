/** The typed AST of a PromQL expression. Plain data: nothing here evaluates or prints. */
import type { Matcher } from "../model/select.ts";

export type ValueType = "scalar" | "vector" | "matrix" | "string";

/** UTF-16 offsets into the query text, end exclusive. */
export interface Span {
  start: number;
  end: number;
  /** The text it stands for, where annotations have another position. */
  of?: Span;
}

export type ArithmeticOp = "+" | "-" | "*" | "/" | "%" | "^" | "atan2";
export type ComparisonOp = "==" | "!=" | ">" | "<" | ">=" | "<=";
export type SetOp = "and" | "or" | "unless";
/** Trimming cuts native histograms; it yields nothing for floats. */
export type TrimOp = "</" | ">/";
export type BinaryOp = ArithmeticOp | ComparisonOp | SetOp | TrimOp;

export type AggregateOp =
  | "sum"
  | "avg"
  | "min"
  | "max"
  | "group"
  | "count"
  | "stddev"
  | "stdvar"
  | "quantile"
  | "topk"
  | "bottomk"
  | "count_values"
  | "limitk"
  | "limit_ratio";

export interface NumberLiteral {
  kind: "number";
  value: number;
  /** Written as a duration (`5m`), so it is printed as one. */
  duration: boolean;
  span: Span;
}

export interface StringLiteral {
  kind: "string";
  value: string;
  span: Span;
}

export interface DurationExpr {
  kind: "duration";
  op: "+" | "-" | "*" | "/" | "%" | "^" | "step" | "range" | "min_of" | "max_of";
  lhs?: DurationNode | undefined;
  rhs?: DurationNode | undefined;
  wrapped: boolean;
  span: Span;
}

/** Seconds: a literal, or an expression that depends on the query's step and range. */
export type DurationNode = NumberLiteral | DurationExpr;

/** The time shift of a selector or subquery. */
export interface TimeShift {
  offsetMs: number;
  offsetExpr?: DurationExpr | undefined;
  atMs?: number | undefined;
  atEdge?: "start" | "end" | undefined;
}

export interface VectorSelector extends TimeShift {
  kind: "vector";
  name: string;
  /** The metric name, if any, is the last matcher. */
  matchers: Matcher[];
  anchored: boolean;
  smoothed: boolean;
  /** True for the selector argument of `info()`, which may match everything. */
  mayBeEmpty: boolean;
  span: Span;
}

export interface MatrixSelector {
  kind: "matrix";
  selector: VectorSelector;
  rangeMs: number;
  rangeExpr?: DurationExpr | undefined;
  span: Span;
}

export interface Subquery extends TimeShift {
  kind: "subquery";
  expr: Expr;
  rangeMs: number;
  rangeExpr?: DurationExpr | undefined;
  /** 0 for the engine's default. */
  stepMs: number;
  stepExpr?: DurationExpr | undefined;
  span: Span;
}

export interface Call {
  kind: "call";
  name: string;
  args: Expr[];
  span: Span;
}

export interface Aggregate {
  kind: "aggregate";
  op: AggregateOp;
  expr: Expr;
  param?: Expr | undefined;
  grouping: string[];
  without: boolean;
  span: Span;
}

export interface VectorMatching {
  card: "one-to-one" | "many-to-one" | "one-to-many" | "many-to-many";
  labels: string[];
  on: boolean;
  include: string[];
  fillLeft?: number | undefined;
  fillRight?: number | undefined;
}

export interface Binary {
  kind: "binary";
  op: BinaryOp;
  lhs: Expr;
  rhs: Expr;
  bool: boolean;
  /** Absent unless both sides are vectors. */
  matching?: VectorMatching | undefined;
  span: Span;
}

export interface Unary {
  kind: "unary";
  op: "+" | "-";
  expr: Expr;
  span: Span;
}

export interface Paren {
  kind: "paren";
  expr: Expr;
  span: Span;
}

export type Expr =
  | NumberLiteral
  | StringLiteral
  | VectorSelector
  | MatrixSelector
  | Subquery
  | Call
  | Aggregate
  | Binary
  | Unary
  | Paren;

const comparisons: ReadonlySet<string> = new Set(["==", "!=", ">", "<", ">=", "<="]);
const setOps: ReadonlySet<string> = new Set(["and", "or", "unless"]);

export function isComparison(op: BinaryOp): op is ComparisonOp {
  return comparisons.has(op);
}

export function isSetOp(op: BinaryOp): op is SetOp {
  return setOps.has(op);
}

/** The aggregations with a parameter before the vector. */
export const aggregatesWithParam: ReadonlySet<string> = new Set([
  "topk",
  "bottomk",
  "count_values",
  "quantile",
  "limitk",
  "limit_ratio",
]);

export function withoutParens(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === "paren") inner = inner.expr;
  return inner;
}

/** The child expressions, in the order of the text. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "call":
      return expr.args;
    case "binary":
      return [expr.lhs, expr.rhs];
    case "aggregate":
      return expr.param === undefined ? [expr.expr] : [expr.param, expr.expr];
    case "unary":
    case "paren":
    case "subquery":
      return [expr.expr];
    case "matrix":
      return [expr.selector];
    case "vector":
    case "number":
    case "string":
      return [];
  }
}

/** Every selector of an expression. */
export function selectorsIn(expr: Expr): readonly VectorSelector[] {
  return expr.kind === "vector" ? [expr] : childrenOf(expr).flatMap(selectorsIn);
}
