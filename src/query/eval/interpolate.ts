/** The value between two samples. */

/** On the line from one sample to the next; a counter that fell is assumed to have restarted from 0. */
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
