/** Runs a range function over every series of its range argument. */
import type { Call, MatrixSelector, Span, Subquery } from "../../ast.ts";
import { labelKey, labelValue, type LabelSet } from "../../../model/labels.ts";
import { duplicateLabels, executionError } from "../../errors.ts";
import { metricName } from "../../labels.ts";
import { quote } from "../../quote.ts";
import { absentLabels } from "../functions/absent.ts";
import { evalRangeVector, windowsOf, type StepWindows, type RangeSamples } from "../ranges.ts";
import { dropMetricName, type EvalScope } from "../scope.ts";
import {
  asScalar,
  countPresent,
  emptySeries,
  isFloat,
  OwnSteps,
  ReusedSteps,
  type Steps,
  type StepSeries,
} from "../value.ts";
import { pairs } from "./extended.ts";
import { applyToMixed } from "./histograms.ts";
import { overTime } from "./over-time.ts";
import { rates } from "./rate.ts";
import { overRollups } from "./rollup.ts";
import { trends } from "./trend.ts";
import type { WindowCall, WindowFunction } from "./window.ts";
import { timeAt } from "../grid.ts";

export const windowFunctions: Readonly<Record<string, WindowFunction>> = {
  ...overTime,
  ...rates,
  ...pairs,
  ...trends,
};

const extendedSafe = {
  anchored: ["changes", "delta", "increase", "rate", "resets"],
  smoothed: ["delta", "increase", "rate"],
} as const;

export async function runWindows(call: Call, scope: EvalScope): Promise<readonly StepSeries[]> {
  const out: StepSeries[] = [];
  const { count } = scope.grid;
  const reserve = (series: number): Promise<void> => scope.run.reserveSeries(series, count);
  await visit(call, scope, new OwnSteps(count), reserve, (series, points) => {
    scope.run.hold(points);
    out.push(series);
  });
  if (call.name === "absent_over_time") return [turnAround(out, rangeOf(call), scope)];
  if (!scope.run.options.delayedNameRemoval) refuseEqual(out);
  return out;
}

/** Like `runWindows`, one series at a time, each valid until the next. Not for functions that need all series. */
export function visitWindows(
  call: Call,
  scope: EvalScope,
  each: (series: StepSeries) => void,
): Promise<void> {
  return visit(call, scope, new ReusedSteps(scope.grid.count), undefined, each);
}

export function isVisitable(call: Call, scope: EvalScope): boolean {
  return (
    windowFunctions[call.name] !== undefined &&
    call.name !== "absent_over_time" &&
    scope.run.options.delayedNameRemoval
  );
}

function rangeOf(call: Call): MatrixSelector | Subquery {
  const range = call.args.find(
    (arg): arg is MatrixSelector | Subquery => arg.kind === "matrix" || arg.kind === "subquery",
  );
  if (range === undefined) throw new Error(`BUG: ${call.name} is no range function`);
  return range;
}

async function visit(
  call: Call,
  scope: EvalScope,
  steps: Steps,
  reserve: ((series: number) => Promise<void>) | undefined,
  each: (series: StepSeries, points: number) => void,
): Promise<void> {
  const apply = windowFunctions[call.name];
  const range = rangeOf(call);
  if (apply === undefined) throw new Error(`BUG: ${call.name} is no range function`);
  const { run, grid } = scope;
  const ranged = await evalRangeVector(range, scope);
  await reserve?.(ranged.series.length);
  const scalars: Float64Array[] = [];
  for (const arg of call.args)
    if (arg !== range) scalars.push(asScalar(await scope.evaluate(arg, scope)));
  if (ranged.extended !== undefined) refuseExtended(call.name, ranged.extended);
  const context: WindowCall = { run, grid, ranged, scalars, span: spanOf(call) };
  const shared = new Map<Float64Array, StepWindows>();
  const keepsName = call.name === "last_over_time" || call.name === "first_over_time";
  let work = 0;
  for (const series of ranged.series) {
    if (run.isDue(work)) await run.breathe();
    const samples = series.read();
    work = samples.times.length;
    let windows = shared.get(samples.times);
    if (windows === undefined) {
      windows = windowsOf(samples.times, ranged, run.options.lookbackMs);
      shared.set(samples.times, windows);
    }
    const dropName = !keepsName || series.dropName;
    const labels = dropName ? dropMetricName(scope, series.labels) : series.labels;
    const result = steps.series(labels, dropName);
    if (samples.histograms === undefined)
      await applyInParts(
        functionOver(samples, call.name, apply),
        samples,
        windows,
        context,
        result,
      );
    else
      applyToMixed(call.name, apply, samples, metricName(series.labels), windows, context, result);
    countSamples(windows, scope);
    const points = countPresent(result.present);
    if (points === 0) continue;
    each(result, points);
    if ((call.name === "rate" || call.name === "increase") && result.present.includes(isFloat))
      doubtCounter(series.labels, context);
  }
}

/** The function for rollup entries, which summarize several samples each. */
function functionOver(
  { rollup }: RangeSamples,
  name: string,
  overSamples: WindowFunction,
): WindowFunction {
  if (rollup === undefined) return overSamples;
  const overEntries: Readonly<Record<string, WindowFunction>> = overRollups;
  return overEntries[name] ?? overSamples;
}

/** The position of annotations: the first argument, or the query's start if that is a subquery, as in Prometheus. */
function spanOf(call: Call): Span {
  const first = call.args[0];
  if (first === undefined) return call.span;
  return first.kind === "subquery" ? { start: 0, end: 0, of: first.span } : first.span;
}

function refuseExtended(name: string, extended: "anchored" | "smoothed"): void {
  const safe: readonly string[] = extendedSafe[extended];
  if (safe.includes(name)) return;
  throw executionError(
    `${extended} modifier can only be used with: ${safe.join(", ")} - not with ${name}`,
  );
}

function countSamples({ from, to, total, largest }: StepWindows, scope: EvalScope): void {
  const { run } = scope;
  // Per step only if per-step statistics are requested.
  if (run.samplesPerStep === undefined) scope.tally(0, total);
  else from.forEach((first, step) => scope.tally(step, (to[step] ?? 0) - first));
  run.hold(largest);
  run.release(largest);
}

/** Warns about rate() of a metric that is apparently not a counter. */
function doubtCounter(labels: LabelSet, call: WindowCall): void {
  const name = metricName(labels);
  if (name === "") return;
  const { annotations, options } = call.run;
  if (options.typeAndUnitLabels) {
    const type = labelValue(labels, "__type__") ?? "";
    if (type === "counter" || type === "histogram") return;
    const sentence =
      'metric might not be a counter, __type__ label is not set to "counter" or "histogram"';
    annotations.info(`${sentence}, got ${quote(type)}: ${quote(name)}`, call.span);
    return;
  }
  if (/_(?:total|sum|count|bucket)$/.test(name)) return;
  const sentence =
    "metric might not be a counter, name does not end in _total/_sum/_count/_bucket:";
  annotations.info(`${sentence} ${quote(name)}`, call.span);
}

function turnAround(
  series: readonly StepSeries[],
  range: MatrixSelector | Subquery,
  scope: EvalScope,
): StepSeries {
  const absent = emptySeries(absentLabels(range), true, scope.grid.count);
  for (let step = 0; step < scope.grid.count; step++) {
    if (series.some((one) => one.present[step] !== 0)) continue;
    absent.values[step] = 1;
    absent.present[step] = 1;
  }
  return absent;
}

function refuseEqual(series: readonly StepSeries[]): void {
  const seen = new Set(series.map((one) => labelKey(one.labels)));
  if (seen.size !== series.length) throw executionError(duplicateLabels);
}

/** Samples in all windows of one part; sorting them takes about 10 ms. */
const partSamples = 100_000;

/**
 * Applies a range function to one series in parts of bounded cost and yields in between: a series may have 11,000
 * windows of a day each.
 */
async function applyInParts(
  apply: WindowFunction,
  series: RangeSamples,
  windows: StepWindows,
  call: WindowCall,
  { values, present }: { readonly values: Float64Array; readonly present: Uint8Array },
): Promise<void> {
  if (windows.total <= partSamples) return apply(series, windows, call, values, present);
  const { run, grid, ranged } = call;
  for (let first = 0; first < grid.count;) {
    const { end, samples } = partFrom(windows, first, grid.count);
    const steps = <Column extends Float64Array | Int32Array | Uint8Array>(column: Column): Column =>
      column.subarray(first, end) as Column;
    apply(
      series,
      { ...windows, from: steps(windows.from), to: steps(windows.to), total: samples },
      {
        ...call,
        grid: { ...grid, startMs: timeAt(grid, first), count: end - first },
        ranged: { ...ranged, refs: steps(ranged.refs) },
        scalars: call.scalars.map(steps),
      },
      steps(values),
      steps(present),
    );
    first = end;
    await run.breathe();
  }
}

function partFrom(
  { from, to }: StepWindows,
  first: number,
  count: number,
): { readonly end: number; readonly samples: number } {
  let [end, samples] = [first, 0];
  do samples += (to[end] ?? 0) - (from[end] ?? 0);
  while (++end < count && samples < partSamples);
  return { end, samples };
}
