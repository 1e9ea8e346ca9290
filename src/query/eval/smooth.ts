/** `x smoothed`: at each step the value on the line between the samples before and after it. */
import type { VectorSelector } from "../ast.ts";
import { withoutStale } from "./ranges.ts";
import type { Scope } from "./scope.ts";
import { firstAfter, refTimes, seriesOf } from "./selector.ts";
import { emptySeries, isEmpty, type StepSeries } from "./value.ts";

export function smoothSelector(expr: VectorSelector, scope: Scope): readonly StepSeries[] {
  const { lookbackMs } = scope.run.options;
  const refs = refTimes(expr, scope);
  const out: StepSeries[] = [];
  for (const { labels, column } of seriesOf(expr, scope)) {
    const { times, values } = withoutStale(column);
    const series = emptySeries(labels, false, scope.grid.count);
    for (let step = 0; step < refs.length; step++) {
      const ref = refs[step] ?? 0;
      const from = firstAfter(times, ref - lookbackMs);
      const to = firstAfter(times, ref + lookbackMs);
      const next = firstAfter(times, ref - 1);
      const value = valueAt(times, values, from, to, next, ref);
      if (value === undefined) continue;
      series.values[step] = value;
      series.present[step] = 1;
    }
    if (!isEmpty(series)) out.push(series);
  }
  return out;
}

function valueAt(
  times: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
  next: number,
  ref: number,
): number | undefined {
  if (next < to && times[next] === ref) return values[next];
  const before = next - 1;
  if (before < from) return undefined;
  if (next >= to) return values[before];
  return interpolate(times, values, before, next, ref, false);
}

/** On the line from one sample to the next; a counter that fell is taken to have started from 0. */
export function interpolate(
  times: Float64Array,
  values: Float64Array,
  before: number,
  after: number,
  timeMs: number,
  isCounter: boolean,
): number {
  const last = values[after] ?? 0;
  let first = values[before] ?? 0;
  if (isCounter && last < first) first = 0;
  const start = times[before] ?? 0;
  return first + ((last - first) * (timeMs - start)) / ((times[after] ?? 0) - start);
}
