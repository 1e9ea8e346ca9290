/** The *_over_time functions over floats. */
import { Kahan, lostIn, meanOf } from "../arithmetic.ts";
import { quantileOf } from "../quantile.ts";
import { perWindow, type WindowFunction } from "./window.ts";

function sum(values: Float64Array, from: number, to: number): number {
  const kahan = new Kahan();
  for (let index = from; index < to; index++) kahan.add(values[index] ?? 0);
  return kahan.total;
}

function variance(values: Float64Array, from: number, to: number): number {
  let mean = 0;
  let lostMean = 0;
  let aux = 0;
  let lostAux = 0;
  for (let index = from; index < to; index++) {
    const value = values[index] ?? 0;
    const delta = value - (mean + lostMean);
    const step = delta / (index - from + 1);
    const nextMean = mean + step;
    lostMean = lostIn(mean, step, nextMean, lostMean);
    mean = nextMean;
    const term = delta * (value - (mean + lostMean));
    const nextAux = aux + term;
    lostAux = lostIn(aux, term, nextAux, lostAux);
    aux = nextAux;
  }
  return (aux + lostAux) / (to - from);
}

/** The index of the extreme; any number replaces a NaN. */
function extreme(
  values: Float64Array,
  from: number,
  to: number,
  better: (value: number, best: number) => boolean,
): number {
  let at = from;
  for (let index = from; index < to; index++) {
    const best = values[at] ?? 0;
    if (better(values[index] ?? 0, best) || Number.isNaN(best)) at = index;
  }
  return at;
}

function median(values: Float64Array): number {
  return quantileOf(0.5, values, 0, values.length);
}

function medianDeviation(values: Float64Array, from: number, to: number): number {
  const window = values.slice(from, to);
  if (window.some((value) => Number.isNaN(value))) return Number.NaN;
  const middle = median(window);
  return median(window.map((value) => Math.abs(value - middle)));
}

const quantileOverTime: WindowFunction = (series, windows, call, values, present) => {
  const quantiles = call.scalars[0];
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    if (to <= from) continue;
    const q = quantiles?.[step] ?? Number.NaN;
    if (!(q >= 0 && q <= 1)) call.run.annotations.invalidQuantile(q, call.span);
    values[step] = quantileOf(q, series.values, from, to);
    present[step] = 1;
  }
};

const seconds = (times: Float64Array, index: number): number => (times[index] ?? 0) / 1000;

export const overTime: Readonly<Record<string, WindowFunction>> = {
  avg_over_time: perWindow(meanOf),
  sum_over_time: perWindow(sum),
  count_over_time: perWindow((_, from, to) => to - from),
  present_over_time: perWindow(() => 1),
  // Marks windows with samples; the caller inverts the result.
  absent_over_time: perWindow(() => 1),
  first_over_time: perWindow((values, from) => values[from] ?? 0),
  last_over_time: perWindow((values, _, to) => values[to - 1] ?? 0),
  min_over_time: slidingExtreme((value, best) => value < best),
  max_over_time: slidingExtreme((value, best) => value > best),
  stdvar_over_time: perWindow(variance),
  stddev_over_time: perWindow((values, from, to) => Math.sqrt(variance(values, from, to))),
  mad_over_time: perWindow(medianDeviation),
  quantile_over_time: quantileOverTime,
  ts_of_first_over_time: perWindow((_, from, __, times) => seconds(times, from)),
  ts_of_last_over_time: perWindow((_, __, to, times) =>
    // Prometheus starts from 0, so the result is never before the epoch.
    Math.max(0, seconds(times, to - 1)),
  ),
  ts_of_min_over_time: perWindow((v, from, to, times) =>
    seconds(
      times,
      extreme(v, from, to, (value, best) => value <= best),
    ),
  ),
  ts_of_max_over_time: perWindow((v, from, to, times) =>
    seconds(
      times,
      extreme(v, from, to, (value, best) => value >= best),
    ),
  ),
};

/** Minimum or maximum over sliding windows: every sample is added and removed once. NaN only counts in windows without numbers. */
function slidingExtreme(better: (value: number, best: number) => boolean): WindowFunction {
  return (series, windows, call, values, present) => {
    const samples = series.values;
    // Indexes of the candidates, best first: never more than the samples of a window.
    const queue = new Int32Array(2 ** Math.ceil(Math.log2(windows.largest + 1)));
    const mask = queue.length - 1;
    let head = 0;
    let tail = 0;
    let next = 0;
    for (let step = 0; step < call.grid.count; step++) {
      const from = windows.from[step] ?? 0;
      const to = windows.to[step] ?? 0;
      if (to <= from) continue;
      if (next < from) next = from;
      while (head < tail && (queue[head & mask] ?? 0) < from) head++;
      for (; next < to; next++) {
        const value = samples[next] ?? 0;
        if (Number.isNaN(value)) continue;
        while (tail > head && better(value, samples[queue[(tail - 1) & mask] ?? 0] ?? 0)) tail--;
        queue[tail++ & mask] = next;
      }
      values[step] =
        head < tail ? (samples[queue[head & mask] ?? 0] ?? 0) : (samples[from] ?? Number.NaN);
      present[step] = 1;
    }
  };
}
