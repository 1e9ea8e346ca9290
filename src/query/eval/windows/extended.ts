/**
 * rate, increase and delta over `anchored` and `smoothed` windows: the edges are samples or interpolated, never
 * extrapolated.
 */
import { isReset } from "../../../model/histogram/arithmetic.ts";
import { equalHistograms, type Histogram } from "../../../model/histogram/histogram.ts";
import { interpolate } from "../interpolate.ts";
import type { RangeSamples } from "../ranges.ts";
import { startsAnew, type WindowFunction } from "./window.ts";

export function extendedRate(isCounter: boolean, isRate: boolean): WindowFunction {
  return (series, windows, call, values, present) => {
    const { rangeMs, refs, extended } = call.ranged;
    const smoothed = extended === "smoothed";
    const { times, values: samples } = series;
    const at = (index: number): number => samples[index] ?? 0;
    for (let step = 0; step < call.grid.count; step++) {
      const low = windows.from[step] ?? 0;
      const high = windows.to[step] ?? 0;
      if (high <= low) continue;
      const end = refs[step] ?? 0;
      const start = end - rangeMs;
      const edges = edgesOf(times, low, high, start, end, smoothed);
      if (edges === undefined) continue;
      let [first, last] = edges;
      const left =
        smoothed && time(times, first) < start
          ? interpolate(times, samples, first, first + 1, start, isCounter)
          : at(first);
      const right =
        smoothed && last > low && time(times, last) > end
          ? interpolate(times, samples, last - 1, last, end, isCounter)
          : at(last);
      let change = right - left;
      if (isCounter) {
        if (time(times, first) <= start) first++;
        if (time(times, last) >= end) last--;
        change += corrections(samples, first, last, left, right);
      }
      values[step] = isRate ? change / (rangeMs / 1000) : change;
      present[step] = 1;
    }
  };
}

function time(times: Float64Array, index: number): number {
  return times[index] ?? 0;
}

/** The samples at the window's edges: the last at or before its start, and its last. */
export function edgesOf(
  times: Float64Array,
  low: number,
  high: number,
  start: number,
  end: number,
  smoothed: boolean,
): [first: number, last: number] | undefined {
  let last = high - 1;
  const first = Math.max(low, searchFrom(times, low, last, (timeMs) => timeMs > start) - 1);
  if (smoothed) last = searchFrom(times, low, last, (timeMs) => timeMs >= end);
  if (time(times, last) <= start) return undefined;
  if (smoothed && time(times, first) > end) return undefined;
  return [first, last];
}

function searchFrom(
  times: Float64Array,
  low: number,
  high: number,
  holds: (timeMs: number) => boolean,
): number {
  let index = low;
  while (index < high && !holds(time(times, index))) index++;
  return index;
}

function corrections(
  samples: Float64Array,
  first: number,
  last: number,
  left: number,
  right: number,
): number {
  let correction = 0;
  let before = left;
  for (let index = first; index <= last; index++) {
    const value = samples[index] ?? 0;
    if (value < before) correction += before;
    before = value;
  }
  return right < before ? correction + before : correction;
}

/** Counts matching pairs of neighbours in each window; an anchored window includes the sample at or before its start. */
function countPairs(indexes: (samples: RangeSamples) => readonly number[]): WindowFunction {
  return (series, windows, call, values, present) => {
    const { refs, rangeMs, extended } = call.ranged;
    const hits = indexes(series);
    let next = 0;
    for (let step = 0; step < call.grid.count; step++) {
      let from = windows.from[step] ?? 0;
      const to = windows.to[step] ?? 0;
      if (to <= from) continue;
      if (extended === "anchored") {
        const start = (refs[step] ?? 0) - rangeMs;
        const inside = searchFrom(series.times, from, to, (timeMs) => timeMs > start);
        if (inside >= to) continue;
        from = Math.max(from, inside - 1);
      }
      while (next < hits.length && (hits[next] ?? 0) <= from) next++;
      let count = 0;
      for (let at = next; at < hits.length && (hits[at] ?? 0) < to; at++) count++;
      values[step] = count;
      present[step] = 1;
    }
  };
}

/** Indexes of samples that match compared with their predecessor; a float next to a histogram always does. */
function hitsOf(
  samples: RangeSamples,
  ofFloats: (value: number, before: number, index: number) => boolean,
  ofHistograms: (current: Histogram, before: Histogram, index: number) => boolean,
): readonly number[] {
  const { values, histograms } = samples;
  const hits: number[] = [];
  for (let index = 1; index < values.length; index++) {
    const [current, before] = [histograms?.[index], histograms?.[index - 1]];
    const isHit =
      current !== undefined && before !== undefined
        ? ofHistograms(current, before, index)
        : current !== before || ofFloats(values[index] ?? 0, values[index - 1] ?? 0, index);
    if (isHit) hits.push(index);
  }
  return hits;
}

const differ = (value: number, before: number): boolean =>
  value !== before && !(Number.isNaN(value) && Number.isNaN(before));

export const pairs: Readonly<Record<string, WindowFunction>> = {
  resets: countPairs((samples) =>
    hitsOf(
      samples,
      (value, before, index) => value < before || startsAnew(samples, index),
      (current, before, index) => startsAnew(samples, index) || isReset(current, before),
    ),
  ),
  changes: countPairs((samples) => hitsOf(samples, differ, (a, b) => !equalHistograms(a, b))),
};
