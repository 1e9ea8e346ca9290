/** Minimum and maximum over sliding windows: every sample is added and removed once, however far windows overlap. */
import type { WindowFunction } from "./window.ts";

/** NaN counts only where a window holds nothing else. */
export function slidingExtreme(better: (value: number, best: number) => boolean): WindowFunction {
  return (series, windows, call, values, present) => {
    const samples = series.values;
    // Indexes of the samples that may still be the best, the best first: never more than a window holds.
    const queue = new Int32Array(2 ** Math.ceil(Math.log2(windows.largest + 1)));
    const mask = queue.length - 1;
    let head = 0;
    let tail = 0;
    let next = 0;
    for (let step = 0; step < call.grid.count; step++) {
      const from = windows.from[step] ?? 0;
      const to = windows.to[step] ?? 0;
      if (to <= from) continue;
      if (next < from) next = from;
      while (head < tail && (queue[head & mask] ?? 0) < from) head++;
      for (; next < to; next++) {
        const value = samples[next] ?? 0;
        if (Number.isNaN(value)) continue;
        while (tail > head && better(value, samples[queue[(tail - 1) & mask] ?? 0] ?? 0)) tail--;
        queue[tail++ & mask] = next;
      }
      values[step] =
        head < tail ? (samples[queue[head & mask] ?? 0] ?? 0) : (samples[from] ?? Number.NaN);
      present[step] = 1;
    }
  };
}
