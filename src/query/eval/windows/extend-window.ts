/** An anchored or smoothed range as a matrix: its samples, plus one at each edge. */
import { interpolate } from "../interpolate.ts";
import { edgesOf } from "./extended.ts";

const nothing = { times: new Float64Array(0), values: new Float64Array(0) };

export function extendWindow(
  times: Float64Array,
  values: Float64Array,
  startMs: number,
  endMs: number,
  smoothed: boolean,
): { times: Float64Array; values: Float64Array } {
  const edges = edgesOf(times, 0, times.length, startMs, endMs, smoothed);
  if (edges === undefined) return nothing;
  let [first, last] = edges;
  const at = (index: number): number => times[index] ?? 0;
  const left =
    smoothed && at(first) < startMs
      ? interpolate(times, values, first, first + 1, startMs, false)
      : (values[first] ?? 0);
  const right =
    smoothed && last > 0 && at(last) > endMs
      ? interpolate(times, values, last - 1, last, endMs, false)
      : (values[last] ?? 0);
  if (at(first) <= startMs) first++;
  if (at(last) >= endMs) last--;
  const inner = Math.max(0, last - first + 1);
  return {
    times: Float64Array.from([startMs, ...times.slice(first, first + inner), endMs]),
    values: Float64Array.from([left, ...values.slice(first, first + inner), right]),
  };
}
