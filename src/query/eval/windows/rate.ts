/** rate, increase, delta, irate, idelta: the change of a counter or gauge over the window, extrapolated to its edges. */
import { extendedRate } from "./extended.ts";
import {
  resetIndexes,
  startInside,
  startsAnew,
  warnOverlap,
  type WindowFunction,
} from "./window.ts";

/** Extrapolates to the window's edge if it is at most this many sample intervals away. */
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
 * The factor that extrapolates the change between the samples to the whole window.
 * @param first the first value
 * @param change the difference from the first to the last value
 * @param perMs 0 for the change itself, not per second
 * @param intervals number of intervals between samples, if it differs from the number of timestamps
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
  // A counter is never negative: it is not extrapolated past the time at which it would have been 0.
  if (isCounter && change > 0 && first >= 0)
    toStart = Math.min(toStart, sampled * (first / change));
  if (toEnd >= distance * reach) toEnd = distance / 2;
  const factor = sampled === 0 ? 1 : (sampled + toStart + toEnd) / sampled;
  return perMs === 0 ? factor : factor / (perMs / 1000);
}

/** Like `extrapolationFactor` if counting began within the window: extrapolates only to its end. */
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

/** Uses only the last two samples. */
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
