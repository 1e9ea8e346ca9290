/** Range functions over rollup entries, which summarize several samples each: the same results as over the samples. */
import { Kahan } from "../arithmetic.ts";
import type { RangeSamples } from "../ranges.ts";
import type { RollupFunction, RollupParts } from "../../../model/select.ts";
import { extrapolationFactor } from "./rate.ts";
import { perWindow, type WindowFunction } from "./window.ts";

/** Functions that differ for rollup entries. Others are the same: the minimum of minima is the minimum of the samples. */
export const overRollups: Readonly<Partial<Record<RollupFunction, WindowFunction>>> = {
  count_over_time: perWindow(total),
  avg_over_time: (series, windows, call, values, present) => {
    const { counts } = partsOf(series);
    const mean = perWindow((sums, from, to) => total(sums, from, to) / total(counts, from, to));
    mean(series, windows, call, values, present);
  },
  rate: change(true, true),
  increase: change(true, false),
  delta: change(false, false),
};

function total(values: Float64Array, from: number, to: number): number {
  const kahan = new Kahan();
  for (let index = from; index < to; index++) kahan.add(values[index] ?? 0);
  return kahan.total;
}

function partsOf({ rollup }: RangeSamples): RollupParts {
  if (rollup === undefined) throw new Error("BUG: samples are no rollup");
  return rollup;
}

function change(isCounter: boolean, isRate: boolean): WindowFunction {
  return (series, windows, call, values, present) => {
    const { counts, firsts } = partsOf(series);
    if (firsts === undefined) throw new Error("BUG: a rollup without first samples");
    const { rangeMs, refs } = call.ranged;
    // The two samples that the result is extrapolated from.
    const edges = new Float64Array(2);
    for (let step = 0; step < call.grid.count; step++) {
      const from = windows.from[step] ?? 0;
      const last = (windows.to[step] ?? 0) - 1;
      if (last < from) continue;
      const samples = total(counts, from, last + 1);
      if (samples < 2) continue;
      const first = firsts.values[from] ?? 0;
      let changed = (series.values[last] ?? 0) - first;
      if (isCounter)
        for (let at = from; at <= last; at++) {
          const before = series.values[at - 1] ?? 0;
          if (at > from && (firsts.values[at] ?? 0) < before) changed += before;
          changed += firsts.resets[at] ?? 0;
        }
      edges[0] = firsts.times[from] ?? 0;
      edges[1] = series.times[last] ?? 0;
      const ref = refs[step] ?? 0;
      values[step] =
        changed *
        extrapolationFactor(
          edges,
          0,
          1,
          ref - rangeMs,
          ref,
          isCounter,
          first,
          changed,
          isRate ? rangeMs : 0,
          samples - 1,
        );
      present[step] = 1;
    }
  };
}
