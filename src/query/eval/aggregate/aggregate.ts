/** Aggregations: groups the series once, then aggregates each group for all steps. */
import type { Aggregate } from "../../ast.ts";
import { executionError } from "../../errors.ts";
import { printShortest, printFloat, printHistogram } from "../../number.ts";
import { newSeries, type EvalScope, eachSeries } from "../scope.ts";
import {
  asScalar,
  asVector,
  histogramAt,
  isEmpty,
  isHistogram,
  vectorOf,
  type StepSeries,
  type Value,
} from "../value.ts";
import { extremes, groupsOf, Groups } from "./group.ts";
import { limitRatio } from "./limit-ratio.ts";
import { limitK, rankK } from "./rank.ts";
import { type LabelSet, labelKey } from "../../../model/labels.ts";
import { comesOneByOne, visitOneByOne } from "../one-by-one.ts";
import type { Notes } from "../interpolate.ts";
import { reducerOf, type Reducer } from "./reducer.ts";
import { quantileOf } from "../quantile.ts";
import { dropAll, keepOnly, withLabel } from "../../labels.ts";
import { isLabelName, quote } from "../../quote.ts";

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
    if (input.some(({ present }) => present.includes(isHistogram)))
      scope.run.annotations.ignoredInAggregation(op, expr.span);
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
    await reduceGroup(expr, group.series, params, result, scope);
    if (!isEmpty(result)) out.push(result);
  }
  return out;
}

const notesOf = ({ expr }: Aggregate, { run }: EvalScope): Notes => ({
  annotations: run.annotations,
  span: expr.span,
});

/** Warns about the extremes over all steps instead of each step. */
function checkQuantiles(expr: Aggregate, params: Float64Array, scope: EvalScope): void {
  const span = expr.param?.span ?? expr.span;
  const { annotations } = scope.run;
  const [lowest, highest] = extremes(params);
  if (Number.isNaN(highest)) annotations.invalidQuantile(Number.NaN, span);
  if (highest > 1) annotations.invalidQuantile(highest, span);
  if (lowest < 0) annotations.invalidQuantile(lowest, span);
}

/** The number of series to keep at each step; undefined if it is zero at every step. */
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

const streamed = new Set<Aggregate["op"]>(["sum", "avg", "min", "max", "count", "group"]);

/**
 * True for an aggregation over selected series, or a range function of them, that adds one series after the other to its
 * group and retains none: a sum over every series of a fleet then only takes the memory of its groups.
 */
function isStreamed({ op, expr }: Aggregate, scope: EvalScope): boolean {
  return streamed.has(op) && comesOneByOne(expr, scope);
}

interface ReducedGroup {
  readonly out: StepSeries;
  readonly reducer: Reducer;
  dropName: boolean;
}

async function reduceStream(expr: Aggregate, scope: EvalScope): Promise<readonly StepSeries[]> {
  const make = (labels: LabelSet): ReducedGroup => {
    const out = newSeries(scope, labels, false);
    const reducer = reducerOf(expr.op, out, notesOf(expr, scope));
    if (reducer === undefined) throw new Error(`BUG: ${expr.op} needs all series at once`);
    return { out, reducer, dropName: false };
  };
  const groups = new Groups<ReducedGroup>(expr, make);
  const before = scope.run.heldSamples;
  await visitOneByOne(expr.expr, scope, (series) => {
    const group = groups.of(series.labels);
    group.dropName ||= series.dropName;
    group.reducer.add(series);
  });
  // Memory of the scalar arguments of a range function.
  scope.run.release(scope.run.heldSamples - before);
  const reduced: StepSeries[] = [];
  for (const { out, reducer, dropName } of groups.all()) {
    reducer.finish();
    if (!isEmpty(out)) reduced.push({ ...out, dropName });
  }
  return reduced;
}

/** Aggregations that yield one value per group: sum, avg, min, max, count, group, stddev, stdvar, quantile. */
async function reduceGroup(
  expr: Aggregate,
  series: readonly StepSeries[],
  params: Float64Array | undefined,
  out: StepSeries,
  scope: EvalScope,
): Promise<void> {
  const { op } = expr;
  const reducer = reducerOf(op, out, notesOf(expr, scope));
  if (reducer !== undefined) {
    await eachSeries(scope, series, (one) => reducer.add(one));
    reducer.finish();
    return;
  }
  if (series.some(({ present }) => present.includes(isHistogram)))
    scope.run.annotations.ignoredInAggregation(op, expr.expr.span);
  if (op === "stdvar") return gathered(series, out, scope, variance);
  if (op === "stddev")
    return gathered(series, out, scope, (values, count) => Math.sqrt(variance(values, count)));
  if (op !== "quantile") throw new Error(`BUG: ${op} does not reduce`);
  return gathered(series, out, scope, (values, count, step) =>
    quantileOf(params?.[step] ?? Number.NaN, values, 0, count),
  );
}

/** Welford's algorithm in series order; any value that is not finite yields NaN. */
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

/** count_values: the number of series with each value, with the value as a label. */
async function countValues(
  expr: Aggregate,
  label: string,
  series: readonly StepSeries[],
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  if (!isLabelName(label)) throw executionError(`invalid label name ${quote(label)}`);
  const names = new Set(expr.without ? [...expr.grouping, "__name__"] : [...expr.grouping, label]);
  const out = new Map<string, StepSeries>();
  const outputFor = (labels: LabelSet, value: string): StepSeries => {
    const counted = withLabel(labels, label, value);
    const group = expr.without ? dropAll(counted, names) : keepOnly(counted, names);
    const key = labelKey(group);
    let found = out.get(key);
    if (found === undefined) {
      out.set(key, (found = newSeries(scope, group, false)));
    }
    return found;
  };
  await eachSeries(scope, series, (one) => {
    const known = new Map<number, StepSeries>();
    for (let step = 0; step < scope.grid.count; step++) {
      if (one.present[step] === 0) continue;
      const value = one.values[step] ?? 0;
      const histogram = histogramAt(one, step);
      let counted = histogram === undefined ? known.get(value) : undefined;
      if (histogram !== undefined) counted = outputFor(one.labels, printHistogram(histogram));
      else if (counted === undefined || Object.is(value, -0) || value === 0) {
        counted = outputFor(one.labels, printFloat(value));
        known.set(value, counted);
      }
      counted.values[step] = (counted.values[step] ?? 0) + 1;
      counted.present[step] = 1;
    }
  });
  return [...out.values()];
}
