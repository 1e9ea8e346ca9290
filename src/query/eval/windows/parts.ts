/** A range function over one series in parts of bounded cost, with turns for others in between: a series may have 11,000 windows of a day each. */
import { timeAt } from "../grid.ts";
import type { RangeSamples, StepWindows } from "../ranges.ts";
import type { WindowCall, WindowFunction } from "./window.ts";

/** Samples of all windows of a part together; sorting them takes some 10 ms. */
const partSamples = 100_000;

export async function applyInParts(
  apply: WindowFunction,
  series: RangeSamples,
  windows: StepWindows,
  call: WindowCall,
  { values, present }: { readonly values: Float64Array; readonly present: Uint8Array },
): Promise<void> {
  if (windows.total <= partSamples) return apply(series, windows, call, values, present);
  const { run, grid, ranged } = call;
  for (let first = 0; first < grid.count;) {
    const { end, samples } = partFrom(windows, first, grid.count);
    const steps = <Column extends Float64Array | Int32Array | Uint8Array>(column: Column): Column =>
      column.subarray(first, end) as Column;
    apply(
      series,
      { ...windows, from: steps(windows.from), to: steps(windows.to), total: samples },
      {
        ...call,
        grid: { ...grid, startMs: timeAt(grid, first), count: end - first },
        ranged: { ...ranged, refs: steps(ranged.refs) },
        scalars: call.scalars.map(steps),
      },
      steps(values),
      steps(present),
    );
    first = end;
    await run.breathe();
  }
}

function partFrom(
  { from, to }: StepWindows,
  first: number,
  count: number,
): { readonly end: number; readonly samples: number } {
  let [end, samples] = [first, 0];
  do samples += (to[end] ?? 0) - (from[end] ?? 0);
  while (++end < count && samples < partSamples);
  return { end, samples };
}
