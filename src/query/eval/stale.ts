/** Stale markers: where a series ended. Instants see the end, ranges look past it. */
import type { SampleColumn } from "../../model/select.ts";

/** A column without its stale markers: ranges skip them. */
export function withoutStale(column: SampleColumn): { times: Float64Array; values: Float64Array } {
  const { times, values, stale } = column;
  if (stale === undefined || !stale.includes(1)) return { times, values };
  const keep: number[] = [];
  for (let index = 0; index < times.length; index++) if (stale[index] !== 1) keep.push(index);
  return {
    times: Float64Array.from(keep, (index) => times[index] ?? 0),
    values: Float64Array.from(keep, (index) => values[index] ?? 0),
  };
}
