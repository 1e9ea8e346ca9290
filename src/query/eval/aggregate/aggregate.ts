/** Aggregations: series into groups once, then each group for all steps. */
import type { Aggregate } from "../../ast.ts";
import { executionError } from "../../errors.ts";
import { printShortest } from "../../number.ts";
import { newSeries, type EvalScope } from "../scope.ts";
import { asScalar, asVector, isEmpty, vectorOf, type StepSeries, type Value } from "../value.ts";
import { extremes, groupsOf } from "./group.ts";
import { countValues } from "./count-values.ts";
import { limitRatio } from "./limit-ratio.ts";
import { limitK, rankK } from "./rank.ts";
import { reduceGroup } from "./reduce.ts";
import { isStreamed, reduceStream } from "./stream.ts";

export async function evalAggregate(expr: Aggregate, scope: EvalScope): Promise<Value> {
  if (isStreamed(expr, scope)) return vectorOf(await reduceStream(expr, scope));
  const param = expr.param === undefined ? undefined : await scope.evaluate(expr.param, scope);
  const input = asVector(await scope.evaluate(expr.expr, scope)).filter((one) => !isEmpty(one));
  if (param?.type === "string") return vectorOf(await countValues(expr, param.value, input, scope));
  const params = param === undefined ? undefined : asScalar(param);
  const { op } = expr;
  if (op === "topk" || op === "bottomk" || op === "limitk") {
    const counts = wholeCounts(params ?? new Float64Array(0));
    if (counts === undefined) return vectorOf([]);
    const groups = groupsOf(expr, input);
    if (op === "limitk") return vectorOf(groups.flatMap((group) => limitK(group, counts, scope)));
    const out: StepSeries[] = [];
    for (const group of groups) out.push(...(await rankK(group, counts, op === "topk", scope)));
    return vectorOf(out);
  }
  if (op === "limit_ratio") {
    return vectorOf(limitRatio(expr, params ?? new Float64Array(0), groupsOf(expr, input), scope));
  }
  return vectorOf(await reduceAll(expr, input, params, scope));
}

async function reduceAll(
  expr: Aggregate,
  input: readonly StepSeries[],
  params: Float64Array | undefined,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  if (expr.op === "quantile" && params !== undefined) checkQuantiles(expr, params, scope);
  const out: StepSeries[] = [];
  for (const group of groupsOf(expr, input)) {
    const dropName = group.series.some((one) => one.dropName);
    const result = newSeries(scope, group.labels, dropName);
    await reduceGroup(expr.op, group.series, params, result, scope);
    if (!isEmpty(result)) out.push(result);
  }
  return out;
}

/** Warns of the extremes over all steps, not of each step. */
function checkQuantiles(expr: Aggregate, params: Float64Array, scope: EvalScope): void {
  const span = expr.param?.span ?? expr.span;
  const { annotations } = scope.run;
  const [lowest, highest] = extremes(params);
  if (Number.isNaN(highest)) annotations.invalidQuantile(Number.NaN, span);
  if (highest > 1) annotations.invalidQuantile(highest, span);
  if (lowest < 0) annotations.invalidQuantile(lowest, span);
}

/** How many to keep at each step; undefined when that is none at every step. */
function wholeCounts(params: Float64Array): Float64Array | undefined {
  const [lowest, highest] = extremes(params);
  if (highest < 1) return undefined;
  if (Number.isNaN(highest)) throw executionError("Parameter value is NaN");
  if (lowest <= -(2 ** 63))
    throw executionError(`Scalar value ${printShortest(lowest)} underflows int64`);
  if (highest >= 2 ** 63)
    throw executionError(`Scalar value ${printShortest(highest)} overflows int64`);
  return params.map(Math.trunc);
}
