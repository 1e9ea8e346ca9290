/** Start times of the samples that a query evaluates, looked up by series. */
import { labelKey, labelValue } from "../../model/labels.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { startTimeLabel } from "../../model/start-times.ts";

/** By the label set of the series whose start times they are. */
export type StartTimesBySeries = ReadonlyMap<string, SampleColumn>;

/** The calls whose result start times can change. */
export const startTimeFunctions: ReadonlySet<string> = new Set([
  "rate",
  "increase",
  "irate",
  "resets",
  "start_timestamp",
]);

export function startTimesBySeries(selected: readonly SelectedSeries[]): StartTimesBySeries {
  return new Map(
    selected.flatMap(({ labels, column }) =>
      labelValue(labels, startTimeLabel) === undefined
        ? []
        : [[labelKey(labels.filter(([name]) => name !== startTimeLabel)), column]],
    ),
  );
}

/** The start time of each sample in milliseconds; 0 where none is known. */
export function startsAt(times: Float64Array, starts: SampleColumn | undefined): Float64Array {
  const found = new Float64Array(times.length);
  if (starts === undefined) return found;
  let at = 0;
  for (let index = 0; index < times.length; index++) {
    const timeMs = times[index] ?? 0;
    while (at < starts.times.length && (starts.times[at] ?? 0) < timeMs) at++;
    if (starts.times[at] === timeMs && starts.stale?.[at] !== 1)
      found[index] = starts.values[at] ?? 0;
  }
  return found;
}
