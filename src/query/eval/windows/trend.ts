/** deriv, predict_linear and double_exponential_smoothing: the trend of a window's samples. */
import { executionError } from "../../errors.ts";
import { Kahan } from "../arithmetic.ts";
import { timeAt } from "../grid.ts";
import type { RangeSamples } from "../ranges.ts";
import type { WindowFunction } from "./window.ts";

/** Least squares over samples [from, to), with time in seconds relative to the intercept. */
function regression(
  series: RangeSamples,
  from: number,
  to: number,
  interceptMs: number,
): [slope: number, at: number] {
  const first = series.values[from] ?? 0;
  const sumX = new Kahan();
  const sumY = new Kahan();
  const sumXY = new Kahan();
  const sumX2 = new Kahan();
  let constant = true;
  for (let index = from; index < to; index++) {
    const y = series.values[index] ?? 0;
    if (index > from && y !== first) constant = false;
    const x = ((series.times[index] ?? 0) - interceptMs) / 1e3;
    sumX.add(x);
    sumY.add(y);
    sumXY.add(x * y);
    sumX2.add(x * x);
  }
  if (constant) return Math.abs(first) === Infinity ? [Number.NaN, Number.NaN] : [0, first];
  const count = to - from;
  const x = sumX.sum + sumX.lost;
  const y = sumY.sum + sumY.lost;
  const covariance = sumXY.sum + sumXY.lost - (x * y) / count;
  const variance = sumX2.sum + sumX2.lost - (x * x) / count;
  const slope = covariance / variance;
  return [slope, y / count - (slope * x) / count];
}

const deriv: WindowFunction = (series, windows, call, values, present) => {
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    if (to - from < 2) continue;
    values[step] = regression(series, from, to, series.times[from] ?? 0)[0];
    present[step] = 1;
  }
};

const predictLinear: WindowFunction = (series, windows, call, values, present) => {
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    if (to - from < 2) continue;
    const [slope, intercept] = regression(series, from, to, timeAt(call.grid, step));
    values[step] = slope * (call.scalars[0]?.[step] ?? Number.NaN) + intercept;
    present[step] = 1;
  }
};

const doubleExponential: WindowFunction = (series, windows, call, values, present) => {
  for (let step = 0; step < call.grid.count; step++) {
    const from = windows.from[step] ?? 0;
    const to = windows.to[step] ?? 0;
    if (to <= from) continue;
    const smoothing = call.scalars[0]?.[step] ?? Number.NaN;
    const trending = call.scalars[1]?.[step] ?? Number.NaN;
    refuse("smoothing", "sf", smoothing);
    refuse("trend", "tf", trending);
    if (to - from < 2) continue;
    values[step] = smooth(series.values, from, to, smoothing, trending);
    present[step] = 1;
  }
};

function refuse(what: string, short: string, factor: number): void {
  if (!(factor <= 0 || factor >= 1)) return;
  throw executionError(
    `invalid ${what} factor. Expected: 0 < ${short} < 1, got: ${factor.toFixed(6)}`,
  );
}

function smooth(
  samples: Float64Array,
  from: number,
  to: number,
  smoothing: number,
  trending: number,
): number {
  let before = 0;
  let level = samples[from] ?? 0;
  let trend = (samples[from + 1] ?? 0) - level;
  for (let index = from + 1; index < to; index++) {
    if (index > from + 1) trend = trending * (level - before) + (1 - trending) * trend;
    const next = smoothing * (samples[index] ?? 0) + (1 - smoothing) * (level + trend);
    before = level;
    level = next;
  }
  return level;
}

export const trends: Readonly<Record<string, WindowFunction>> = {
  deriv,
  predict_linear: predictLinear,
  double_exponential_smoothing: doubleExponential,
};
