/** The metrics that the hub has for a GPU or a host in the current range. */
import { firstMetrics } from "./first-load.ts";
import { getJson } from "./http.ts";
import { type FetchState, useFetch } from "./use-fetch.ts";
import { timeWindow } from "../view-state/time.ts";

const EVERY_MS = 60_000;

export function useReportedMetrics(who: string): FetchState<ReadonlySet<string>> {
  const { fromMs, toMs } = timeWindow.value;
  // Rounded, because a window that moves by a second has the same metrics.
  const [from, to] = [Math.floor(fromMs / EVERY_MS), Math.ceil(toMs / EVERY_MS)];
  const state = useFetch(`reported ${who} ${from} ${to}`, async (signal) => {
    const query = new URLSearchParams({
      "match[]": `{${who}}`,
      start: String((from * EVERY_MS) / 1_000),
      end: String((to * EVERY_MS) / 1_000),
    });
    const body = (await getJson(`api/v1/label/__name__/values?${query.toString()}`, signal)) as {
      readonly data: readonly string[];
    };
    last = { who, reported: new Set(body.data) };
    return last.reported;
  });
  last ??= firstReported(who);
  return { ...state, value: state.value ?? (last?.who === who ? last.reported : undefined) };
}

function firstReported(who: string): typeof last {
  const reported = firstMetrics(who);
  return reported === undefined ? undefined : { who, reported };
}

/** Kept while the next result loads, so that the page does not flicker every minute. */
let last: { readonly who: string; readonly reported: ReadonlySet<string> } | undefined;
