import { expect, test } from "vitest";
import { parse } from "./parse/parse.ts";
import { treeJson } from "./tree-json.ts";

test("the tree of a query has Prometheus's shape", () => {
  expect(
    treeJson(parse('sum by (a) (rate(x{b="c"}[5m] offset 1m)) > bool on (a) 2 * vector(1)')),
  ).toEqual({
    type: "binaryExpr",
    op: ">",
    bool: true,
    matching: {
      card: "one-to-one",
      labels: ["a"],
      on: true,
      include: [],
      fillValues: { lhs: null, rhs: null },
    },
    lhs: {
      type: "aggregation",
      op: "sum",
      param: null,
      grouping: ["a"],
      without: false,
      expr: {
        type: "call",
        func: { name: "rate", argTypes: ["matrix"], variadic: 0, returnType: "vector" },
        args: [
          {
            type: "matrixSelector",
            name: "x",
            range: 300_000,
            rangeExpr: null,
            offset: 60_000,
            offsetExpr: null,
            matchers: [
              { name: "b", value: "c", type: "=" },
              { name: "__name__", value: "x", type: "=" },
            ],
            timestamp: null,
            startOrEnd: null,
            anchored: false,
            smoothed: false,
          },
        ],
      },
    },
    rhs: {
      type: "binaryExpr",
      op: "*",
      bool: false,
      matching: null,
      lhs: { type: "numberLiteral", val: "2" },
      rhs: {
        type: "call",
        func: { name: "vector", argTypes: ["scalar"], variadic: 0, returnType: "vector" },
        args: [{ type: "numberLiteral", val: "1" }],
      },
    },
  });
});

test("subqueries, durations and literals are in the tree", () => {
  expect(treeJson(parse("(-x)[5m + step():1m] @ end()"))).toMatchObject({
    type: "subquery",
    range: 0,
    rangeExpr: {
      type: "durationExpr",
      op: "+",
      lhs: { type: "numberLiteral", val: "300", duration: true },
      rhs: { type: "durationExpr", op: "step", lhs: null, rhs: null },
      wrapped: false,
    },
    step: 60_000,
    startOrEnd: "end",
    expr: { type: "parenExpr", expr: { type: "unaryExpr", op: "-" } },
  });
  expect(treeJson(parse('"text"'))).toEqual({ type: "stringLiteral", val: "text" });
});
