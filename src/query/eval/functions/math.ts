/** Functions of single values. The result is no longer the metric, so the name is dropped. */
import { goLog10, goLog2, goMax, goMin } from "../arithmetic.ts";
import { eachSeries, dropMetricName, settle, type EvalScope } from "../scope.ts";
import { floatsOf, type StepSeries } from "../value.ts";

export const mathFunctions: Readonly<Record<string, (value: number) => number>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  floor: Math.floor,
  exp: Math.exp,
  sqrt: Math.sqrt,
  ln: Math.log,
  log2: goLog2,
  log10: goLog10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  rad: (value) => (value * Math.PI) / 180,
  deg: (value) => (value * 180) / Math.PI,
  sgn: Math.sign,
};

export async function mapSeries(
  series: readonly StepSeries[],
  scope: EvalScope,
  change: (value: number, step: number) => number,
): Promise<readonly StepSeries[]> {
  const out: StepSeries[] = [];
  await eachSeries(scope, series, (one) => {
    const { labels, values, present } = floatsOf(one);
    scope.run.takeSeries(1, values.length);
    const changed = new Float64Array(values.length);
    for (let step = 0; step < values.length; step++) {
      if (present[step] === 1) changed[step] = change(values[step] ?? 0, step);
    }
    out.push({ labels: dropMetricName(scope, labels), dropName: true, values: changed, present });
  });
  return settle(scope, out);
}

/** There is no result if the lower bound is above the upper one. */
export async function clamp(
  series: readonly StepSeries[],
  lower: Float64Array,
  upper: Float64Array,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const clamped = await mapSeries(series, scope, (value, step) =>
    goMax(lower[step] ?? Number.NaN, goMin(upper[step] ?? Number.NaN, value)),
  );
  const crossed = lower.map((low, step) => ((upper[step] ?? 0) < low ? 1 : 0));
  if (!crossed.includes(1)) return clamped;
  return clamped.map((one) => ({
    ...one,
    present: one.present.map((present, step) => (crossed[step] === 1 ? 0 : present)),
  }));
}

export async function roundTo(
  series: readonly StepSeries[],
  nearest: Float64Array,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  return mapSeries(series, scope, (value, step) => {
    const inverse = 1 / (nearest[step] ?? 1);
    return Math.floor(value * inverse + 0.5) / inverse;
  });
}
