/** What a range function sees of one series, and where it writes. Functions fill all steps in one walk. */
import type { Span } from "../../ast.ts";
import type { Grid } from "../grid.ts";
import type { RangeVector, RangeSamples, StepWindows } from "../ranges.ts";
import type { QueryRun } from "../run.ts";

export interface WindowCall {
  readonly run: QueryRun;
  readonly grid: Grid;
  readonly ranged: RangeVector;
  /** The scalar arguments, in order, each with a value per step. */
  readonly scalars: readonly Float64Array[];
  /** Where the first argument stands in the query, for annotations. */
  readonly span: Span;
}

export type WindowFunction = (
  series: RangeSamples,
  windows: StepWindows,
  call: WindowCall,
  values: Float64Array,
  present: Uint8Array,
) => void;

/** A function of the samples values[from..to) alone; `none` when it has no answer. */
export function perWindow(
  answer: (values: Float64Array, from: number, to: number, times: Float64Array) => number,
): WindowFunction {
  return (series, windows, call, values, present) => {
    for (let step = 0; step < call.grid.count; step++) {
      const from = windows.from[step] ?? 0;
      const to = windows.to[step] ?? 0;
      if (to <= from) continue;
      values[step] = answer(series.values, from, to, series.times);
      present[step] = 1;
    }
  };
}

/** The samples that are lower than the one before them, found once for all windows. */
export function resetIndexes(values: Float64Array): readonly number[] {
  const resets: number[] = [];
  for (let index = 1; index < values.length; index++) {
    if ((values[index] ?? 0) < (values[index - 1] ?? 0)) resets.push(index);
  }
  return resets;
}
