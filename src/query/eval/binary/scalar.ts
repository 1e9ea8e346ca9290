/** Operators with a scalar on one side or on both. */
import type { Binary } from "../../ast.ts";
import { eachSeries, newSeries, dropMetricName, settle, type EvalScope } from "../scope.ts";
import { histogramAt, isEmpty, putHistogram, type StepSeries } from "../value.ts";
import { operateOnHistograms, StepNotes } from "./histograms.ts";
import { arithmeticOf, comparisonOf, type Operate } from "./operate.ts";

export function scalarWithScalar(
  operate: Operate,
  left: Float64Array,
  right: Float64Array,
): Float64Array {
  const out = new Float64Array(left.length);
  for (let step = 0; step < out.length; step++)
    out[step] = operate(left[step] ?? 0, right[step] ?? 0);
  return out;
}

/** A comparison filters and keeps the vector's value, whichever side it is on; with bool it returns 1 or 0. */
export async function vectorWithScalar(
  expr: Binary,
  series: readonly StepSeries[],
  scalar: Float64Array,
  scalarLeft: boolean,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const operate = arithmeticOf(expr.op);
  const compare = comparisonOf(expr.op);
  // Trimming does not change the metric.
  const changesName = operate !== undefined || expr.bool;
  const out: StepSeries[] = [];
  const notes = new StepNotes();
  await eachSeries(scope, series, (one) => {
    const labels = changesName ? dropMetricName(scope, one.labels) : one.labels;
    const result = newSeries(scope, labels, changesName || one.dropName);
    for (let step = 0; step < scope.grid.count; step++) {
      if (one.present[step] === 0) continue;
      const histogram = histogramAt(one, step);
      const value = one.values[step] ?? 0;
      const left = scalarLeft ? (scalar[step] ?? 0) : value;
      const right = scalarLeft ? value : (scalar[step] ?? 0);
      if (histogram !== undefined || (operate === undefined && compare === undefined)) {
        const [a, b] = scalarLeft ? [left, histogram ?? right] : [histogram ?? left, right];
        const answer = operateOnHistograms(expr, a, b, (note) => notes.put(step, 0, note));
        if (typeof answer === "object") putHistogram(result, step, answer);
        continue;
      }
      if (operate !== undefined) result.values[step] = operate(left, right);
      else if (compare !== undefined) {
        const keep = compare(left, right);
        if (!keep && !expr.bool) continue;
        result.values[step] = expr.bool ? Number(keep) : value;
      }
      result.present[step] = 1;
    }
    if (!isEmpty(result)) out.push(result);
  });
  notes.addTo(scope.run.annotations);
  return settle(scope, out);
}
