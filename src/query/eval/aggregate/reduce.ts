/** Aggregations that make one value of a group: sum, avg, min, max, count, group, stddev, stdvar, quantile. */
import type { AggregateOp } from "../../ast.ts";
import { lostIn, meanOf } from "../arithmetic.ts";
import { quantileOf } from "../quantile.ts";
import { eachSeries, type Scope } from "../scope.ts";
import type { StepSeries } from "../value.ts";

export async function reduceGroup(
  op: AggregateOp,
  series: readonly StepSeries[],
  params: Float64Array | undefined,
  out: StepSeries,
  scope: Scope,
): Promise<void> {
  switch (op) {
    case "sum":
      return sum(series, out, scope);
    case "count":
      return fold(
        series,
        out,
        scope,
        () => 1,
        (count) => count + 1,
      );
    case "group":
      return fold(
        series,
        out,
        scope,
        () => 1,
        () => 1,
      );
    case "min":
      return fold(series, out, scope, same, (best, value) =>
        best > value || Number.isNaN(best) ? value : best,
      );
    case "max":
      return fold(series, out, scope, same, (best, value) =>
        best < value || Number.isNaN(best) ? value : best,
      );
    case "avg":
      return gathered(series, out, scope, (values, count) => meanOf(values, 0, count));
    case "stdvar":
      return gathered(series, out, scope, variance);
    case "stddev":
      return gathered(series, out, scope, (values, count) => Math.sqrt(variance(values, count)));
    case "quantile":
      return gathered(series, out, scope, (values, count, step) =>
        quantileOf(params?.[step] ?? Number.NaN, values, 0, count),
      );
    case "topk":
    case "bottomk":
    case "limitk":
    case "limit_ratio":
    case "count_values":
      throw new Error(`BUG: ${op} does not reduce`);
  }
}

const same = (value: number): number => value;

async function fold(
  series: readonly StepSeries[],
  out: StepSeries,
  scope: Scope,
  first: (value: number) => number,
  next: (before: number, value: number) => number,
): Promise<void> {
  await eachSeries(scope, series, ({ values, present }) => {
    for (let step = 0; step < present.length; step++) {
      if (present[step] !== 1) continue;
      const value = values[step] ?? 0;
      out.values[step] =
        out.present[step] === 1 ? next(out.values[step] ?? 0, value) : first(value);
      out.present[step] = 1;
    }
  });
}

async function sum(series: readonly StepSeries[], out: StepSeries, scope: Scope): Promise<void> {
  const lost = new Float64Array(out.values.length);
  await eachSeries(scope, series, ({ values, present }) => {
    for (let step = 0; step < present.length; step++) {
      if (present[step] !== 1) continue;
      const value = values[step] ?? 0;
      if (out.present[step] === 1) {
        const before = out.values[step] ?? 0;
        const next = before + value;
        lost[step] = lostIn(before, value, next, lost[step] ?? 0);
        out.values[step] = next;
      } else {
        out.values[step] = value;
        out.present[step] = 1;
      }
    }
  });
  for (let step = 0; step < lost.length; step++) {
    if (out.present[step] === 1) out.values[step] = (out.values[step] ?? 0) + (lost[step] ?? 0);
  }
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
  scope: Scope,
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
