/** Queries the statistics of a GPU's series once, for its readings table and the legends of its charts. */
import type { Gpu } from "../../../../src/view/gpu.ts";
import { lastQuery, statisticNames } from "../../../../src/view/range-statistics.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { type InstantSample, queryInstant } from "../../query/client.ts";
import { useFetch, useInstant } from "../../query/use-fetch.ts";
import { following, rangeMs, timeWindow } from "../../view-state/time.ts";
import {
  type SeriesStatistic,
  SeriesStatistics,
  shownMetrics,
  statisticQueries,
  withLiveValues,
} from "./series-statistics.ts";

/** The statistics read every sample of the range, so that they are refreshed only as often as they can change visibly. */
const everyMs = (lengthMs: number): number =>
  Math.max(5_000, Math.ceil(lengthMs / 240 / 1_000) * 1_000);
const NEWEST_EVERY_MS = 5_000;

export function useSeriesStatistics(
  gpu: Gpu,
  who: string,
  reported: ReadonlySet<string> | undefined,
): SeriesStatistics {
  const metrics = [...shownMetrics].filter((metric) => reported?.has(metric));
  const selector = `{__name__=~"${metrics.join("|")}",${who}}`;
  const lengthMs = rangeMs.value;
  const isPast = !following.value;
  const { toMs } = timeWindow.value;
  const atMs = isPast ? toMs : Math.floor(toMs / everyMs(lengthMs)) * everyMs(lengthMs);
  const samples = new Map<SeriesStatistic, readonly InstantSample[]>();
  for (const name of statisticNames) {
    const found = useStatistic(statisticQueries(name, metrics, who, lengthMs), atMs);
    if (found !== undefined) samples.set(name, found);
  }
  const newest = useFetch(
    isPast ? `${toMs} ${lengthMs} ${selector}` : selector,
    (signal) =>
      isPast
        ? queryInstant(lastQuery(selector, lengthMs), toMs, signal)
        : queryInstant(selector, hubTimeMs(), signal),
    isPast ? undefined : NEWEST_EVERY_MS,
  ).value;
  if (newest !== undefined)
    samples.set("newest", isPast ? newest.samples : withLiveValues(newest.samples, gpu));
  return new SeriesStatistics(samples, { isPast });
}

function useStatistic(
  queries: readonly string[],
  atMs: number,
): readonly InstantSample[] | undefined {
  const { value } = useInstant(queries.join("\n"), atMs, (query, timeMs, signal) =>
    askAll(query === "" ? [] : query.split("\n"), timeMs, signal),
  );
  return value?.samples;
}

async function askAll(queries: readonly string[], timeMs?: number, signal?: AbortSignal) {
  const all = await Promise.all(queries.map((query) => queryInstant(query, timeMs, signal)));
  return {
    type: "vector",
    samples: all.flatMap(({ samples }) => samples),
    annotations: all.flatMap(({ annotations }) => annotations),
  };
}
