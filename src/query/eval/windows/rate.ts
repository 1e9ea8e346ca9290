/** rate, increase, delta, irate, idelta: what a counter or gauge did over the window, extrapolated to its edges. */
import { extendedRate } from "./extended.ts";
import {
  resetIndexes,
  startInside,
  startsAnew,
  warnOverlap,
  type WindowFunction,
} from "./window.ts";

/** Extrapolation reaches the window's edge when it is no further than this many sample distances. */
const reach = 1.1;

function extrapolated(isCounter: boolean, isRate: boolean): WindowFunction {
  const extended = extendedRate(isCounter, isRate);
  return (series, windows, call, values, present) => {
    if (call.ranged.extended !== undefined) return extended(series, windows, call, values, present);
    const { rangeMs, refs } = call.ranged;
    const resets = isCounter ? resetIndexes(series) : noResets;
    let nextReset = 0;
    for (let step = 0; step < call.grid.count; step++) {
      const from = windows.from[step] ?? 0;
      const last = (windows.to[step] ?? 0) - 1;
      const ref = refs[step] ?? 0;
      const start = isCounter ? startInside(series, from, ref - rangeMs) : 0;
      if (start === 0 ? last <= from : last < from) continue;
      let change = (series.values[last] ?? 0) - (series.values[from] ?? 0);
      while (nextReset < resets.length && (resets[nextReset] ?? 0) <= from) nextReset++;
      for (let at = nextReset; at < resets.length && (resets[at] ?? 0) <= last; at++) {
        change += series.values[(resets[at] ?? 0) - 1] ?? 0;
      }
      if (isCounter) warnOverlap(series, from, last, call);
      const perMs = isRate ? rangeMs : 0;
      values[step] =
        start > 0
          ? (change + (series.values[from] ?? 0)) *
            factorFromStart(series.times, from, last, start, ref, perMs)
          : change *
            extrapolationFactor(
              series.times,
              from,
              last,
              ref - rangeMs,
              ref,
              isCounter,
              series.values[from] ?? 0,
              change,
              perMs,
            );
      present[step] = 1;
    }
  };
}

const noResets: readonly number[] = [];

/**
 * By how much the change between samples is multiplied to stand for the whole window.
 * @param first the first value
 * @param change what it changed by until the last
 * @param perMs 0 for the change itself, not per second
 * @param intervals between samples, where there are more of them than times
 */
export function extrapolationFactor(
  times: Float64Array,
  from: number,
  last: number,
  rangeStart: number,
  rangeEnd: number,
  isCounter: boolean,
  first: number,
  change: number,
  perMs: number,
  intervals = last - from,
): number {
  const firstMs = times[from] ?? 0;
  const lastMs = times[last] ?? 0;
  const sampled = (lastMs - firstMs) / 1000;
  const distance = sampled / intervals;
  let toStart = (firstMs - rangeStart) / 1000;
  let toEnd = (rangeEnd - lastMs) / 1000;
  if (toStart >= distance * reach) toStart = distance / 2;
  // A counter cannot have been below 0: it is not extrapolated past the moment it would have been.
  if (isCounter && change > 0 && first >= 0)
    toStart = Math.min(toStart, sampled * (first / change));
  if (toEnd >= distance * reach) toEnd = distance / 2;
  const factor = sampled === 0 ? 1 : (sampled + toStart + toEnd) / sampled;
  return perMs === 0 ? factor : factor / (perMs / 1000);
}

/** The same where counting began within the window: only its end is extrapolated to. */
export function factorFromStart(
  times: Float64Array,
  from: number,
  last: number,
  startMs: number,
  rangeEnd: number,
  perMs: number,
): number {
  const [firstMs, lastMs] = [times[from] ?? 0, times[last] ?? 0];
  const sampled = (lastMs - startMs) / 1000;
  const distance = last === from ? 0 : (lastMs - firstMs) / 1000 / (last - from);
  let toEnd = (rangeEnd - lastMs) / 1000;
  if (toEnd >= distance * reach) toEnd = distance / 2;
  const factor = (sampled + toEnd) / sampled;
  return perMs === 0 ? factor : factor / (perMs / 1000);
}

/** From the last two samples alone. */
function instant(isRate: boolean): WindowFunction {
  return (series, windows, call, values, present) => {
    for (let step = 0; step < call.grid.count; step++) {
      const last = (windows.to[step] ?? 0) - 1;
      if (last <= (windows.from[step] ?? 0)) continue;
      const newest = series.values[last] ?? 0;
      const before = series.values[last - 1] ?? 0;
      const isReset = isRate && (newest < before || startsAnew(series, last));
      const change = isReset ? newest : newest - before;
      const elapsed = (series.times[last] ?? 0) - (series.times[last - 1] ?? 0);
      if (elapsed === 0) continue;
      values[step] = isRate ? change / (elapsed / 1000) : change;
      present[step] = 1;
    }
  };
}

export const rates: Readonly<Record<string, WindowFunction>> = {
  rate: extrapolated(true, true),
  increase: extrapolated(true, false),
  delta: extrapolated(false, false),
  irate: instant(true),
  idelta: instant(false),
};
