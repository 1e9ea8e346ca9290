/** `x smoothed`: at each step the value on the line between the samples before and after it. */
import type { VectorSelector } from "../ast.ts";
import { interpolate } from "./interpolate.ts";
import { peekAt, refTimes, seriesOf } from "./lookup.ts";
import { newSeries, type EvalScope } from "./scope.ts";
import { firstAfter } from "./search.ts";
import { withoutStale } from "./stale.ts";
import { isEmpty, type StepSeries } from "./value.ts";

export async function smoothSelector(
  expr: VectorSelector,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const { lookbackMs } = scope.run.options;
  const refs = refTimes(expr, scope);
  const out: StepSeries[] = [];
  for (const one of seriesOf(expr, scope)) {
    const { times, values } = withoutStale(peekAt(one));
    if (scope.run.isDue(refs.length)) await scope.run.breathe();
    const series = newSeries(scope, one.labels, false);
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
