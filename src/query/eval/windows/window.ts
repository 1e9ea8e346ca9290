/** The input and output of a range function for one series. Functions fill all steps in one pass. */
import { isStartReset, overlapsBefore } from "../../../model/start-times.ts";
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
  /** Position of the first argument in the query, for annotations. */
  readonly span: Span;
}

export type WindowFunction = (
  series: RangeSamples,
  windows: StepWindows,
  call: WindowCall,
  values: Float64Array,
  present: Uint8Array,
) => void;

/** A function of the samples values[from..to) of each window that has samples. */
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

/**
 * Indexes of samples before which a counter was reset, computed once for all windows: a lower value, or a later start
 * time.
 */
export function resetIndexes(series: RangeSamples): readonly number[] {
  const { values } = series;
  const resets: number[] = [];
  for (let index = 1; index < values.length; index++) {
    if ((values[index] ?? 0) < (values[index - 1] ?? 0) || startsAnew(series, index))
      resets.push(index);
  }
  return resets;
}

/** True if counting restarted between a sample and its predecessor, according to their start times. */
export function startsAnew({ starts, times }: RangeSamples, index: number): boolean {
  if (starts === undefined) return false;
  const [startBefore, start] = [starts.times[index - 1] ?? 0, starts.times[index] ?? 0];
  return isStartReset(startBefore, times[index - 1] ?? 0, start, times[index] ?? 0);
}

/** The start time, at which the counter was 0, if it is between the window's start and its first sample; otherwise 0. */
export function startInside(
  { starts, times }: RangeSamples,
  first: number,
  rangeStart: number,
): number {
  const start = starts?.times[first] ?? 0;
  return start > rangeStart && start < (times[first] ?? 0) ? start : 0;
}

/** Warns if a sample of the window has a start time before its predecessor's timestamp. */
export function warnOverlap(
  { starts, times }: RangeSamples,
  first: number,
  last: number,
  { run, span }: WindowCall,
): void {
  if (starts === undefined) return;
  for (let index = first + 1; index <= last; index++) {
    const [startBefore, start] = [starts.times[index - 1] ?? 0, starts.times[index] ?? 0];
    if (!overlapsBefore(startBefore, times[index - 1] ?? 0, start)) continue;
    run.annotations.startOverlap(starts.metric, span);
    return;
  }
}
