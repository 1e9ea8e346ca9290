/** Range functions over series with native histograms, also mixed with floats. */
import { divide, emptyLike, isReset, multiply } from "../../../model/histogram/arithmetic.ts";
import { compact, type Histogram, isCustom, toSchema } from "../../../model/histogram/histogram.ts";
import { HistogramSum } from "../../../model/histogram/sum.ts";
import type { HistogramOperation } from "../../annotations.ts";
import { combineHistograms, interpolateHistograms, type Notes } from "../interpolate.ts";
import { type RangeSamples, type StepWindows, windowsOf } from "../ranges.ts";
import { putHistogram, type StepSeries } from "../value.ts";
import { edgesOf } from "./extended.ts";
import { extrapolationFactor, factorFromStart } from "./rate.ts";
import {
  startInside,
  startsAnew,
  warnOverlap,
  type WindowCall,
  type WindowFunction,
} from "./window.ts";

/** A series' samples with its native histograms, and its name in annotations. */
interface MixedSeries extends RangeSamples {
  readonly histograms: readonly (Histogram | undefined)[];
  readonly metric: string;
}

/** The result of a function for a window with histograms; undefined for none. */
type OfWindow = (
  series: MixedSeries,
  from: number,
  to: number,
  call: WindowCall,
  step: number,
) => Histogram | undefined;

/** Functions of times or of pairs of samples, which accept any kind of sample. */
const ofAnySample = new Set([
  "count_over_time",
  "present_over_time",
  "absent_over_time",
  "ts_of_first_over_time",
  "ts_of_last_over_time",
  "resets",
  "changes",
]);

export function applyToMixed(
  name: string,
  apply: WindowFunction,
  samples: RangeSamples,
  metric: string,
  windows: StepWindows,
  call: WindowCall,
  out: StepSeries,
): void {
  const { histograms } = samples;
  if (histograms === undefined || ofAnySample.has(name))
    return apply(samples, windows, call, out.values, out.present);
  const series = { ...samples, histograms, metric };
  const pick = picked[name];
  if (pick !== undefined) return pickEach(series, pick, windows, call, out);
  const floats = floatsOf(series);
  const floatWindows = windowsOf(floats.times, call.ranged, call.run.options.lookbackMs);
  // Start times are compared only in windows that have a result.
  const comparesStarts = floats.starts !== undefined && (name === "rate" || name === "increase");
  const applied = comparesStarts ? withoutMixed(floatWindows, windows) : floatWindows;
  apply(floats, applied, call, out.values, out.present);
  const ofWindow = ofHistograms[name];
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    const floatCount = (floatWindows.to[step] ?? 0) - (floatWindows.from[step] ?? 0);
    if (to - from === floatCount) continue;
    if (ofWindow === undefined) {
      if (floatCount > 0) call.run.annotations.ignoredInRange(metric, call.span);
      continue;
    }
    if (floatCount > 0) {
      out.present[step] = 0;
      call.run.annotations.mixedSamples(metric, call.span);
      continue;
    }
    const result = ofWindow(series, from, to, call, step);
    if (result !== undefined) putHistogram(out, step, result);
  }
}

/** The windows of floats, empty where a window also has a histogram. */
function withoutMixed(floats: StepWindows, all: StepWindows): StepWindows {
  const to = floats.to.map((end, step) => {
    const from = floats.from[step] ?? 0;
    return end - from === (all.to[step] ?? 0) - (all.from[step] ?? 0) ? end : from;
  });
  return { ...floats, to };
}

function floatsOf({ times, values, histograms, starts }: MixedSeries): RangeSamples {
  const isValue = (_: number, at: number): boolean => histograms[at] === undefined;
  return {
    times: times.filter(isValue),
    values: values.filter(isValue),
    ...(starts !== undefined && { starts: { ...starts, times: starts.times.filter(isValue) } }),
  };
}

/** Functions that return one sample of the window, or a result of the last two. */
type SamplePicker = (
  series: MixedSeries,
  from: number,
  to: number,
  call: WindowCall,
) => number | Histogram | undefined;

const sampleAt = ({ values, histograms }: MixedSeries, at: number): number | Histogram =>
  histograms[at] ?? values[at] ?? 0;

const picked: Readonly<Record<string, SamplePicker>> = {
  first_over_time: (series, from) => sampleAt(series, from),
  last_over_time: (series, _, to) => sampleAt(series, to - 1),
  irate: (series, from, to, call) => lastChange(series, from, to, call, true),
  idelta: (series, from, to, call) => lastChange(series, from, to, call, false),
};

function pickEach(
  series: MixedSeries,
  pick: SamplePicker,
  windows: StepWindows,
  call: WindowCall,
  out: StepSeries,
): void {
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    const result = to <= from ? undefined : pick(series, from, to, call);
    if (result === undefined) continue;
    if (typeof result !== "number") putHistogram(out, step, result);
    else {
      out.values[step] = result;
      out.present[step] = 1;
    }
  }
}

function lastChange(
  series: MixedSeries,
  from: number,
  to: number,
  call: WindowCall,
  isRate: boolean,
): number | Histogram | undefined {
  if (to - from < 2) return undefined;
  const seconds = ((series.times[to - 1] ?? 0) - (series.times[to - 2] ?? 0)) / 1000;
  const [newest, before] = [sampleAt(series, to - 1), sampleAt(series, to - 2)];
  const isNew = startsAnew(series, to - 1);
  const { annotations } = call.run;
  if (typeof newest === "number" && typeof before === "number") {
    const change = isRate && (newest < before || isNew) ? newest : newest - before;
    return isRate ? change / seconds : change;
  }
  if (typeof newest === "number" || typeof before === "number") {
    annotations.mixedSamples(series.metric, call.span);
    return undefined;
  }
  const gauges = [newest, before].filter(({ resetHint }) => resetHint === "gauge").length;
  if (isRate && gauges > 0) annotations.notCounter(series.metric, call.span);
  if (!isRate && gauges < 2) annotations.notGauge(series.metric, call.span);
  const change =
    isRate && (isNew || isReset(newest, before))
      ? newest
      : combined(newest, before, "subtraction", series, call);
  if (change === undefined) return undefined;
  const result = compact({ ...change, resetHint: "gauge" });
  return isRate ? divide(result, seconds) : result;
}

const combined = (
  a: Histogram,
  b: Histogram,
  operation: Exclude<HistogramOperation, "aggregation">,
  { metric }: MixedSeries,
  call: WindowCall,
): Histogram | undefined => combineHistograms(a, b, operation, metric, notesOf(call));

const notesOf = ({ run, span }: WindowCall): Notes => ({ annotations: run.annotations, span });

const ofHistograms: Readonly<Record<string, OfWindow>> = {
  sum_over_time: (series, from, to, call) => summed(series, from, to, call, false),
  avg_over_time: (series, from, to, call) => summed(series, from, to, call, true),
  rate: (series, from, to, call, step) => changeOf(series, from, to, call, step, true, true),
  increase: (series, from, to, call, step) => changeOf(series, from, to, call, step, true, false),
  delta: (series, from, to, call, step) => changeOf(series, from, to, call, step, false, false),
};

function summed(
  series: MixedSeries,
  from: number,
  to: number,
  { run: { annotations }, span }: WindowCall,
  isMean: boolean,
): Histogram | undefined {
  const [first, ...rest] = histogramsIn(series, from, to);
  if (first === undefined) return undefined;
  const sum = new HistogramSum(first);
  for (const term of rest) {
    if (isMean ? sum.addToMean(term) : sum.add(term)) continue;
    annotations.mixedSchemas(series.metric, span);
    return undefined;
  }
  if (sum.resetCollision) annotations.resetCollision("aggregation", span);
  if (sum.boundsReconciled) annotations.boundsReconciled("aggregation", span);
  return isMean ? sum.mean() : sum.total();
}

function histogramsIn({ histograms }: MixedSeries, from: number, to: number): Histogram[] {
  const found: Histogram[] = [];
  for (let at = from; at < to; at++) {
    const one = histograms[at];
    if (one !== undefined) found.push(one);
  }
  return found;
}

function changeOf(
  series: MixedSeries,
  from: number,
  to: number,
  call: WindowCall,
  step: number,
  isCounter: boolean,
  isRate: boolean,
): Histogram | undefined {
  const { rangeMs, refs, extended } = call.ranged;
  const end = refs[step] ?? 0;
  if (extended !== undefined) return extendedChange(series, from, to, call, end, isCounter, isRate);
  const all = histogramsIn(series, from, to);
  const [first] = all;
  if (first === undefined) return undefined;
  const start = isCounter ? startInside(series, from, end - rangeMs) : 0;
  if (all.length === 1 && start === 0) return undefined;
  const change = all.length === 1 ? undefined : increaseOf(all, from, series, call, isCounter);
  if (all.length > 1 && change === undefined) return undefined;
  if (start > 0 || change === undefined) {
    const sum = change === undefined ? first : combined(change, first, "addition", series, call);
    const perMs = isRate ? rangeMs : 0;
    return sum && multiply(sum, factorFromStart(series.times, from, to - 1, start, end, perMs));
  }
  const factor = extrapolationFactor(
    series.times,
    from,
    to - 1,
    end - rangeMs,
    end,
    isCounter,
    first.count,
    change.count,
    isRate ? rangeMs : 0,
  );
  return multiply(change, factor);
}

/** The increase from the first histogram to the last, plus the counts before each reset in between. */
function increaseOf(
  all: readonly Histogram[],
  from: number,
  series: MixedSeries,
  call: WindowCall,
  isCounter: boolean,
): Histogram | undefined {
  const { annotations } = call.run;
  const isNew = (at: number): boolean => startsAnew(series, from + at);
  const [first, second] = all;
  const last = all.at(-1);
  if (first === undefined || second === undefined || last === undefined) return undefined;
  // With a reset after it, the first histogram only marks the start of counting: its buckets are irrelevant.
  const start = isCounter && (isNew(1) || isReset(second, first)) ? emptyLike(second) : first;
  const looked = isCounter ? [start, ...all.slice(1)] : [start, last];
  const isMixed = looked.some((one) => isCustom(one) !== isCustom(last));
  // Of a mix in between, Prometheus reports nothing else.
  const judged = !isMixed ? all : isCustom(start) === isCustom(last) ? [] : [first, last];
  if (isCounter && judged.some(({ resetHint }) => resetHint === "gauge"))
    annotations.notCounter(series.metric, call.span);
  if (isMixed) {
    annotations.mixedSchemas(series.metric, call.span);
    return undefined;
  }
  const schema = Math.min(...looked.map((one) => one.schema));
  let change = combined(toSchema(last, schema), start, "subtraction", series, call);
  if (isCounter) {
    change = change && withResets(change, looked, series, call, isNew);
    if (change !== undefined) warnOverlap(series, from, from + all.length - 1, call);
  } else if (first.resetHint !== "gauge" || last.resetHint !== "gauge")
    annotations.notGauge(series.metric, call.span);
  return change && compact({ ...change, resetHint: "gauge" });
}

/** `anchored` and `smoothed`: the edges are samples or interpolated, and nothing is extrapolated. */
function extendedChange(
  series: MixedSeries,
  from: number,
  to: number,
  call: WindowCall,
  end: number,
  isCounter: boolean,
  isRate: boolean,
): Histogram | undefined {
  const { times } = series;
  const { rangeMs, extended } = call.ranged;
  const { annotations } = call.run;
  const start = end - rangeMs;
  const isSmoothed = extended === "smoothed";
  const edges = edgesOf(times, from, to, start, end, isSmoothed);
  if (edges === undefined) return undefined;
  const [first, last] = edges;
  const inside = histogramsIn(series, first, last + 1);
  const [oldest, second] = inside;
  const newest = inside.at(-1);
  if (oldest === undefined || newest === undefined) return undefined;
  for (const one of inside) {
    if (isCustom(one) !== isCustom(oldest)) {
      annotations.mixedSchemas(series.metric, call.span);
      return undefined;
    }
    if (isCounter && one.resetHint === "gauge") annotations.notCounter(series.metric, call.span);
  }
  const cutsLeft = isSmoothed && (times[first] ?? 0) < start;
  const cutsRight = isSmoothed && last > from && (times[last] ?? 0) > end;
  const left = cutsLeft ? between(series, first, start, isCounter, call) : oldest;
  const right = cutsRight ? between(series, last - 1, end, isCounter, call) : newest;
  if (left === undefined || right === undefined) return undefined;
  if (!isCounter && (left.resetHint !== "gauge" || right.resetHint !== "gauge"))
    annotations.notGauge(series.metric, call.span);
  let change = combined(right, left, "subtraction", series, call);
  if (isCounter && change !== undefined) {
    // If the left edge is interpolated across a reset, that reset is counted already.
    const isCounted = cutsLeft && second !== undefined && isReset(second, oldest);
    const path = [isCounted ? second : left, ...inside.slice(isCounted ? 2 : 1, -1)];
    if (inside.length > (isCounted ? 2 : 1)) {
      const lost = lostInResets([...path, right], series, call);
      if (lost !== undefined)
        change =
          lost === "incompatible" ? undefined : combined(change, lost, "addition", series, call);
    }
  }
  if (change === undefined) return undefined;
  const result = isRate ? divide(change, rangeMs / 1000) : change;
  return compact({ ...result, resetHint: "gauge" });
}

/**
 * The sum of the counts before each reset along the path; undefined without resets. Added up on its own, as in
 * Prometheus: the zero bucket absorbs others depending on the order.
 */
function lostInResets(
  path: readonly Histogram[],
  series: MixedSeries,
  call: WindowCall,
): Histogram | "incompatible" | undefined {
  let lost: Histogram | undefined;
  for (let at = 1; at < path.length; at++) {
    const [before, current] = [path[at - 1], path[at]];
    if (before === undefined || current === undefined || !isReset(current, before)) continue;
    lost = lost === undefined ? before : combined(lost, before, "addition", series, call);
    if (lost === undefined) return "incompatible";
  }
  return lost;
}

/** Interpolates between two consecutive histograms. */
function between(
  { times, histograms, metric }: MixedSeries,
  before: number,
  timeMs: number,
  isCounter: boolean,
  call: WindowCall,
): Histogram | undefined {
  const [a, b] = [histograms[before], histograms[before + 1]];
  if (a === undefined || b === undefined) return undefined;
  const from = times[before] ?? 0;
  const share = (timeMs - from) / ((times[before + 1] ?? 0) - from);
  return interpolateHistograms(a, b, share, isCounter, metric, notesOf(call));
}

/** Adds the counts before each reset along the path to a change. */
function withResets(
  change: Histogram,
  path: readonly Histogram[],
  series: MixedSeries,
  call: WindowCall,
  isNew: (at: number) => boolean = () => false,
): Histogram | undefined {
  let result: Histogram | undefined = change;
  path.slice(1).forEach((current, at) => {
    const before = path[at];
    if (result === undefined || before === undefined) return;
    if (isNew(at + 1) || isReset(current, before))
      result = combined(result, before, "addition", series, call);
  });
  return result;
}
