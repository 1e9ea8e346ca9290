/** The selected series of a selector, and the instant that each step looks at. */
import type { VectorSelector } from "../ast.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { timeAt } from "./grid.ts";
import type { EvalScope } from "./scope.ts";

export function seriesOf(expr: VectorSelector, scope: EvalScope): readonly SelectedSeries[] {
  const series = scope.run.selected.get(expr);
  if (series === undefined) throw new Error("BUG: selector was not selected");
  return series;
}

/** A series' samples, good until the next peek or the next wait. */
export function peekAt(series: SelectedSeries): SampleColumn {
  return series.peek?.() ?? series.column;
}

/** The instant each step looks at. */
export function refTimes(
  shift: { readonly atMs?: number | undefined; readonly offsetMs: number },
  scope: EvalScope,
): Float64Array {
  const refs = new Float64Array(scope.grid.count);
  for (let step = 0; step < refs.length; step++) {
    refs[step] = (shift.atMs ?? timeAt(scope.grid, step)) - shift.offsetMs;
  }
  return refs;
}
