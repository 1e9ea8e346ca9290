/** Aggregations that make one value of a group: sum, avg, min, max, count, group, stddev, stdvar, quantile. */
import type { AggregateOp } from "../../ast.ts";
import { quantileOf } from "../quantile.ts";
import { eachSeries, type EvalScope } from "../scope.ts";
import type { StepSeries } from "../value.ts";
import { reducerOf } from "./reducer.ts";

export async function reduceGroup(
  op: AggregateOp,
  series: readonly StepSeries[],
  params: Float64Array | undefined,
  out: StepSeries,
  scope: EvalScope,
): Promise<void> {
  const reducer = reducerOf(op, out);
  if (reducer !== undefined) {
    await eachSeries(scope, series, (one) => reducer.add(one));
    reducer.finish();
    return;
  }
  if (op === "stdvar") return gathered(series, out, scope, variance);
  if (op === "stddev")
    return gathered(series, out, scope, (values, count) => Math.sqrt(variance(values, count)));
  if (op !== "quantile") throw new Error(`BUG: ${op} does not reduce`);
  return gathered(series, out, scope, (values, count, step) =>
    quantileOf(params?.[step] ?? Number.NaN, values, 0, count),
  );
}

/** Welford's, in the order the series come; anything not finite makes NaN. */
function variance(values: Float64Array, count: number): number {
  let mean = values[0] ?? 0;
  let total = Number.isFinite(mean) ? 0 : Number.NaN;
  for (let index = 1; index < count; index++) {
    const value = values[index] ?? 0;
    const delta = value - mean;
    mean += delta / (index + 1);
    total += delta * (value - mean);
  }
  return total / count;
}

async function gathered(
  series: readonly StepSeries[],
  out: StepSeries,
  scope: EvalScope,
  answer: (values: Float64Array, count: number, step: number) => number,
): Promise<void> {
  const values = new Float64Array(series.length);
  for (let step = 0; step < out.values.length; step++) {
    if (scope.run.isDue()) await scope.run.breathe();
    let count = 0;
    for (const one of series) if (one.present[step] === 1) values[count++] = one.values[step] ?? 0;
    if (count === 0) continue;
    out.values[step] = answer(values, count, step);
    out.present[step] = 1;
  }
}
