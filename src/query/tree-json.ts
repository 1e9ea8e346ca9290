/** The AST as JSON for parse_query, with Prometheus's structure and names, as its UI expects. */
import type { DurationNode, Expr, TimeShift, VectorSelector } from "./ast.ts";
import { printFloat } from "./number.ts";
import { signatures } from "./signatures.ts";

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

export function treeJson(expr: Expr | undefined): Json {
  if (expr === undefined) return null;
  switch (expr.kind) {
    case "number":
      return { type: "numberLiteral", val: printFloat(expr.value) };
    case "string":
      return { type: "stringLiteral", val: expr.value };
    case "paren":
      return { type: "parenExpr", expr: treeJson(expr.expr) };
    case "unary":
      return { type: "unaryExpr", op: expr.op, expr: treeJson(expr.expr) };
    case "vector":
      return { type: "vectorSelector", ...selectorJson(expr) };
    case "matrix":
      return {
        type: "matrixSelector",
        ...selectorJson(expr.selector),
        range: expr.rangeMs,
        rangeExpr: durationJson(expr.rangeExpr),
      };
    case "subquery":
      return {
        type: "subquery",
        expr: treeJson(expr.expr),
        range: expr.rangeMs,
        rangeExpr: durationJson(expr.rangeExpr),
        step: expr.stepMs,
        stepExpr: durationJson(expr.stepExpr),
        ...shiftJson(expr),
      };
    case "call": {
      const signature = signatures.get(expr.name);
      return {
        type: "call",
        func: {
          name: expr.name,
          argTypes: signature?.args ?? [],
          variadic: signature?.variadic ?? 0,
          returnType: signature?.returns ?? "vector",
        },
        args: expr.args.map(treeJson),
      };
    }
    case "aggregate":
      return {
        type: "aggregation",
        op: expr.op,
        expr: treeJson(expr.expr),
        param: treeJson(expr.param),
        grouping: expr.grouping,
        without: expr.without,
      };
    case "binary":
      return {
        type: "binaryExpr",
        op: expr.op,
        lhs: treeJson(expr.lhs),
        rhs: treeJson(expr.rhs),
        bool: expr.bool,
        matching:
          expr.matching === undefined
            ? null
            : {
                card: expr.matching.card,
                labels: expr.matching.labels,
                on: expr.matching.on,
                include: expr.matching.include,
                fillValues: {
                  lhs: expr.matching.fillLeft ?? null,
                  rhs: expr.matching.fillRight ?? null,
                },
              },
      };
  }
}

function shiftJson(shift: TimeShift): { [key: string]: Json } {
  return {
    offset: shift.offsetMs,
    offsetExpr: durationJson(shift.offsetExpr),
    timestamp: shift.atMs ?? null,
    startOrEnd: shift.atEdge ?? null,
  };
}

function selectorJson(expr: VectorSelector): { [key: string]: Json } {
  return {
    name: expr.name,
    matchers: expr.matchers.map(({ name, value, op }) => ({ name, value, type: op })),
    ...shiftJson(expr),
    anchored: expr.anchored,
    smoothed: expr.smoothed,
  };
}

function durationJson(node: DurationNode | undefined): Json {
  if (node === undefined) return null;
  if (node.kind === "number") {
    return { type: "numberLiteral", val: printFloat(node.value), duration: node.duration };
  }
  return {
    type: "durationExpr",
    op: node.op,
    lhs: durationJson(node.lhs),
    rhs: durationJson(node.rhs),
    wrapped: node.wrapped,
  };
}
