/** Converts evaluated values to the result: applies delayed name removal and sorts range results by labels. */
import type { MatrixSelector, Subquery } from "./ast.ts";
import { executionError } from "./errors.ts";
import { compareLabels, dropMetadata } from "./labels.ts";
import { timeAt } from "./eval/grid.ts";
import { evalRangeVector, windowsOf, type RangeSamples } from "./eval/ranges.ts";
import type { EvalScope } from "./eval/scope.ts";
import {
  countPresent,
  histogramAt,
  isFloat,
  isHistogram,
  isOneMetric,
  mergeEqual,
  type StepSeries,
  type Value,
} from "./eval/value.ts";
import { extendWindow } from "./eval/windows/extend-window.ts";
import { bytesOfPoints } from "./memory.ts";
import type { HistogramPoint, MatrixSeries, QueryData } from "./result.ts";

/** Takes some milliseconds. */
const sortedAtOnce = 2_000;

function cleaned(series: readonly StepSeries[], scope: EvalScope): readonly StepSeries[] {
  const { mayHoldEqual, options } = scope.run;
  const losing = options.delayedNameRemoval && series.some((one) => one.dropName);
  const named = losing
    ? series.map((one) => (one.dropName ? { ...one, labels: dropMetadata(one.labels) } : one))
    : series;
  if (mayHoldEqual) return mergeEqual(named);
  const cannotCollide = !losing || (series.every((one) => one.dropName) && isOneMetric(series));
  return cannotCollide ? named : mergeEqual(named);
}

export function vectorData(value: Value, timeMs: number, scope: EvalScope): QueryData {
  if (value.type === "string") return { type: "string", timeMs, value: value.value };
  if (value.type === "scalar")
    return { type: "scalar", timeMs, value: value.values[0] ?? Number.NaN };
  const present = cleaned(
    value.series.filter((one) => one.present[0] !== 0),
    scope,
  );
  const samples = present.map((one) => {
    const { labels, values } = one;
    const histogram = histogramAt(one, 0);
    if (histogram === undefined) return { labels, timeMs, value: values[0] ?? 0 };
    return { labels, timeMs, value: Number.NaN, histogram };
  });
  return { type: "vector", samples };
}

export async function rangeData(value: Value, scope: EvalScope): Promise<QueryData> {
  const { grid } = scope;
  if (value.type === "string") throw new Error("BUG: a string has no range");
  const times = new Float64Array(grid.count).map((_, step) => timeAt(grid, step));
  if (value.type === "scalar")
    return { type: "matrix", series: [{ labels: [], times, values: value.values }] };
  const series: MatrixSeries[] = [];
  for (const one of cleaned(value.series, scope)) {
    if (scope.run.isDue(grid.count)) await scope.run.breathe();
    const count = countPresent(one.present);
    if (one.histograms !== undefined && count > 0) series.push(split(one, times));
    else if (count === grid.count) series.push({ labels: one.labels, times, values: one.values });
    else if (count > 0) series.push(onlyPresent(one, times, count, scope));
  }
  return { type: "matrix", series: await sortedByLabels(series, scope) };
}

/** A merge sort that yields to the event loop: 200,000 label sets take a second. */
async function sortedByLabels(
  series: readonly MatrixSeries[],
  { run }: EvalScope,
): Promise<readonly MatrixSeries[]> {
  const byLabels = (a: MatrixSeries, b: MatrixSeries): number => compareLabels(a.labels, b.labels);
  let parts: MatrixSeries[][] = [];
  for (let at = 0; at < series.length; at += sortedAtOnce) {
    parts.push(series.slice(at, at + sortedAtOnce).sort(byLabels));
    if (at > 0) await run.breathe();
  }
  while (parts.length > 1) {
    const merged: MatrixSeries[][] = [];
    for (let at = 0; at < parts.length; at += 2) {
      const [left = [], right = []] = parts.slice(at, at + 2);
      const out: MatrixSeries[] = [];
      let [l, r] = [0, 0];
      for (;;) {
        const [a, b] = [left[l], right[r]];
        if (a === undefined && b === undefined) break;
        if (run.isDue()) await run.breathe();
        if (b === undefined || (a !== undefined && byLabels(a, b) <= 0)) {
          if (a !== undefined) out.push(a);
          l++;
        } else {
          out.push(b);
          r++;
        }
      }
      merged.push(out);
    }
    parts = merged;
  }
  return parts[0] ?? [];
}

/** Separates floats and native histograms. */
function split(
  { labels, values, present, histograms }: StepSeries,
  all: Float64Array,
): MatrixSeries {
  const isValue = (_: number, step: number): boolean => present[step] === isFloat;
  return {
    labels,
    times: all.filter(isValue),
    values: values.filter(isValue),
    histograms: pointsOf(
      all,
      histograms?.map((one, step) => (present[step] === isHistogram ? one : undefined)),
    ),
  };
}

function pointsOf(times: Float64Array, histograms: RangeSamples["histograms"]): HistogramPoint[] {
  return (histograms ?? []).flatMap((histogram, at) =>
    histogram === undefined ? [] : [{ timeMs: times[at] ?? 0, histogram }],
  );
}

function onlyPresent(
  one: StepSeries,
  all: Float64Array,
  count: number,
  scope: EvalScope,
): MatrixSeries {
  const first = one.present.indexOf(1);
  const end = one.present.lastIndexOf(1) + 1;
  // Fast path for a series that began or ended within the range: views of the existing arrays.
  if (end - first === count)
    return {
      labels: one.labels,
      times: all.subarray(first, end),
      values: one.values.subarray(first, end),
    };
  scope.run.options.memory.take(bytesOfPoints(1, count));
  const times = new Float64Array(count);
  const values = new Float64Array(count);
  let at = 0;
  for (let step = 0; step < all.length; step++) {
    if (one.present[step] !== 1) continue;
    times[at] = all[step] ?? 0;
    values[at++] = one.values[step] ?? 0;
  }
  return { labels: one.labels, times, values };
}

/** A range selector or subquery as the whole query, at one timestamp. */
export async function matrixOf(
  expr: MatrixSelector | Subquery,
  scope: EvalScope,
): Promise<QueryData> {
  const ranged = await evalRangeVector(expr, scope);
  const { lookbackMs, delayedNameRemoval } = scope.run.options;
  const out: MatrixSeries[] = [];
  for (const series of ranged.series) {
    const samples = series.read();
    const windows = windowsOf(samples.times, ranged, lookbackMs);
    const from = windows.from[0] ?? 0;
    const to = windows.to[0] ?? 0;
    if (to <= from) continue;
    scope.run.hold(to - from);
    scope.run.options.memory.take(bytesOfPoints(1, to - from));
    scope.tally(0, to - from);
    const window = cut(
      samples,
      from,
      to,
      ranged.extended,
      (ranged.refs[0] ?? 0) - ranged.rangeMs,
      ranged.refs[0] ?? 0,
    );
    if (window.times.length === 0 && (window.histograms ?? []).length === 0) continue;
    const labels =
      delayedNameRemoval && series.dropName ? dropMetadata(series.labels) : series.labels;
    out.push({ labels, ...window });
  }
  return { type: "matrix", series: out.sort((a, b) => compareLabels(a.labels, b.labels)) };
}

function cut(
  samples: RangeSamples,
  from: number,
  to: number,
  extended: "anchored" | "smoothed" | undefined,
  startMs: number,
  endMs: number,
): Omit<MatrixSeries, "labels"> {
  const times = samples.times.slice(from, to);
  const values = samples.values.slice(from, to);
  const histograms = samples.histograms?.slice(from, to);
  if (extended !== undefined && histograms?.some((one) => one !== undefined))
    throw executionError(`${extended} modifier is not supported with histograms`);
  if (extended !== undefined)
    return extendWindow(times, values, startMs, endMs, extended === "smoothed");
  if (histograms === undefined) return { times, values };
  const isValue = (_: number, at: number): boolean => histograms[at] === undefined;
  return {
    times: times.filter(isValue),
    values: values.filter(isValue),
    histograms: pointsOf(times, histograms),
  };
}
