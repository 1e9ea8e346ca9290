/** Evaluates an AST on a grid, each node for all steps at once. Dispatch only: every kind of node has its own file. */
import { multiply } from "../../model/histogram/arithmetic.ts";
import { isSetOp, withoutParens, type Aggregate, type Binary, type Expr } from "../ast.ts";
import { evalAggregate } from "./aggregate/aggregate.ts";
import { filterOneByOne, isFilter } from "./binary/filter.ts";
import { scalarOp } from "./binary/operate.ts";
import { scalarWithScalar, vectorWithScalar } from "./binary/scalar.ts";
import { combineSets } from "./binary/sets.ts";
import { combineVectors } from "./binary/vectors.ts";
import { evalCall } from "./functions/call.ts";
import { firstOf } from "./grid.ts";
import { isInvariant } from "./one-by-one.ts";
import { dropMetricName, settle, type EvalScope } from "./scope.ts";
import { evalSelector } from "./selector.ts";
import {
  asScalar,
  asVector,
  countPresent,
  histogramAt,
  vectorOf,
  type StepSeries,
  type Value,
} from "./value.ts";

export async function evaluate(expr: Expr, scope: EvalScope): Promise<Value> {
  await scope.run.breathe();
  if (
    !scope.grid.instant &&
    expr.kind !== "number" &&
    expr.kind !== "string" &&
    isInvariant(expr)
  ) {
    return repeat(await evaluate(expr, once(scope)), scope);
  }
  const before = scope.run.heldSamples;
  const { memory } = scope.run.options;
  const bytesBefore = memory.bytes;
  const value = await evaluateNode(expr, scope);
  // Releases the memory of the arguments; only the result stays counted.
  scope.run.release(scope.run.heldSamples - before);
  scope.run.hold(sizeOf(value));
  memory.shrinkTo(bytesBefore);
  if (value.type === "vector") scope.run.takeSeries(value.series.length, scope.grid.count);
  return value;
}

/** The scope of an expression evaluated once for all steps; its samples count for each step. */
function once(scope: EvalScope): EvalScope {
  const tally = (_: number, samples: number): void => {
    for (let step = 0; step < scope.grid.count; step++) scope.tally(step, samples);
  };
  return { ...scope, grid: firstOf(scope.grid), tally };
}

async function evaluateNode(expr: Expr, scope: EvalScope): Promise<Value> {
  const { count } = scope.grid;
  switch (expr.kind) {
    case "number":
      return { type: "scalar", values: new Float64Array(count).fill(expr.value) };
    case "string":
      return { type: "string", value: expr.value };
    case "vector":
      return vectorOf(await evalSelector(expr, scope));
    case "paren":
      return evaluate(expr.expr, scope);
    case "unary":
      return negate(expr.op, await evaluate(expr.expr, scope), scope);
    case "call":
      return evalCall({ ...expr, args: expr.args.map(withoutParens) }, scope);
    case "aggregate":
      return evalAggregate(withoutOuterParens(expr), scope);
    case "binary":
      return evalBinary(expr, scope);
    case "matrix":
    case "subquery":
      throw new Error("BUG: a range is evaluated by the function that takes it");
  }
}

/** The annotations of an aggregation refer to the expressions inside the parentheses around its arguments. */
const withoutOuterParens = (expr: Aggregate): Aggregate => ({
  ...expr,
  expr: withoutParens(expr.expr),
  ...(expr.param !== undefined && { param: withoutParens(expr.param) }),
});

async function evalBinary(expr: Binary, scope: EvalScope): Promise<Value> {
  if (isFilter(expr, scope)) return vectorOf(await filterOneByOne(expr, scope));
  const left = await evaluate(expr.lhs, scope);
  const right = await evaluate(expr.rhs, scope);
  if (left.type === "scalar" && right.type === "scalar") {
    return {
      type: "scalar",
      values: scalarWithScalar(scalarOp(expr.op), left.values, right.values),
    };
  }
  if (left.type === "scalar") {
    return vectorOf(await vectorWithScalar(expr, asVector(right), left.values, true, scope));
  }
  if (right.type === "scalar") {
    return vectorOf(await vectorWithScalar(expr, asVector(left), asScalar(right), false, scope));
  }
  const { matching } = expr;
  if (matching === undefined) throw new Error("BUG: vectors without matching");
  if (isSetOp(expr.op)) {
    return vectorOf(await combineSets(expr.op, matching, asVector(left), asVector(right), scope));
  }
  return vectorOf(await combineVectors(expr, matching, asVector(left), asVector(right), scope));
}

function negate(op: "+" | "-", value: Value, scope: EvalScope): Value {
  if (op === "+") return value;
  if (value.type === "scalar") return { type: "scalar", values: value.values.map((each) => -each) };
  scope.run.takeSeries(asVector(value).length, scope.grid.count);
  const series = asVector(value).map((one) => ({
    labels: dropMetricName(scope, one.labels),
    dropName: true,
    values: one.values.map((each) => -each),
    present: one.present,
    histograms: one.histograms?.map((histogram) => histogram && multiply(histogram, -1)),
  }));
  return vectorOf(settle(scope, series));
}

function repeat(value: Value, scope: EvalScope): Value {
  const { count } = scope.grid;
  if (value.type === "string") return value;
  if (value.type === "scalar") {
    return { type: "scalar", values: new Float64Array(count).fill(value.values[0] ?? Number.NaN) };
  }
  scope.run.hold(value.series.length * (count - 1));
  scope.run.takeSeries(value.series.length, count);
  const series = value.series.map((one): StepSeries => ({
    ...one,
    values: new Float64Array(count).fill(one.values[0] ?? 0),
    present: new Uint8Array(count).fill(one.present[0] ?? 0),
    histograms: one.histograms && Array.from({ length: count }, () => histogramAt(one, 0)),
  }));
  return vectorOf(series);
}

function sizeOf(value: Value): number {
  if (value.type === "string") return 0;
  if (value.type === "scalar") return value.values.length;
  let total = 0;
  for (const one of value.series) total += countPresent(one.present);
  return total;
}
