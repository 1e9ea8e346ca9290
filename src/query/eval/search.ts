/** Searches samples by time in sorted columns. */

/**
 * For each timestamp, the index of the newest sample in (timestamp - lookback, timestamp], or -1. Timestamps must
 * ascend.
 */
export function newestIndexes(
  times: Float64Array,
  refs: Float64Array,
  lookbackMs: number,
): Int32Array {
  const indexes = new Int32Array(refs.length).fill(-1);
  let index = firstAfter(times, refs[0] ?? 0) - 1;
  for (let step = 0; step < refs.length; step++) {
    const ref = refs[step] ?? 0;
    while (index + 1 < times.length && (times[index + 1] ?? 0) <= ref) index++;
    if (index >= 0 && (times[index] ?? 0) > ref - lookbackMs) indexes[step] = index;
  }
  return indexes;
}

/** The index of the first sample after the timestamp. */
export function firstAfter(times: Float64Array, timeMs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > timeMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
