/** Start times of a query's samples, by series. */
import { labelKey, labelValue } from "../../model/labels.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { startTimeLabel } from "../../model/start-times.ts";

/** Key: the label set of the series. */
export type StartTimesBySeries = ReadonlyMap<string, SampleColumn>;

/** The functions whose result depends on start times. */
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

/** The start time of each sample in milliseconds; 0 if unknown. */
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
