/** Exemplars of a query in the current window, each with the link to its trace if the hub has a trace URL. */
import type { ChartExemplar } from "../chart/model.ts";
import type { TimeWindow } from "../view-state/range.ts";
import { readNumber, type Labels } from "./columns.ts";
import { getJson } from "./http.ts";
import { isShared } from "./me.ts";
import { traceOf } from "./trace-url.ts";
import { useFetch } from "./use-fetch.ts";

/** More dots hide the lines; the newest are shown. */
const MOST_DOTS = 200;
const EVERY_MS = 10_000;

interface ExemplarAnswer {
  readonly data: readonly {
    readonly exemplars: readonly {
      readonly labels: Labels;
      readonly value: string;
      readonly timestamp: number;
    }[];
  }[];
}

interface FlagsAnswer {
  readonly data: Readonly<Record<string, string>>;
}

export function useExemplars(
  query: string | undefined,
  window: TimeWindow | undefined,
): readonly ChartExemplar[] {
  const fromMs = Math.floor((window?.fromMs ?? 0) / EVERY_MS) * EVERY_MS;
  const toMs = Math.ceil((window?.toMs ?? 0) / EVERY_MS) * EVERY_MS;
  const isAsked = query !== undefined && window !== undefined;
  const key = isAsked ? `${query} ${fromMs} ${toMs}` : "";
  const { value } = useFetch<ExemplarAnswer | undefined>(key, async (signal) => {
    if (!isAsked) return undefined;
    const params = { query, start: String(fromMs / 1_000), end: String(toMs / 1_000) };
    const form = new URLSearchParams(params).toString();
    return (await getJson(`api/v1/query_exemplars?${form}`, signal)) as ExemplarAnswer;
  });
  const found = (value?.data ?? []).flatMap(({ exemplars }) => exemplars);
  // A shared view may not read the hub's settings.
  const isLinked = found.length > 0 && !isShared.value;
  const flags = useFetch<FlagsAnswer | undefined>(isLinked ? "flags" : "", async (signal) =>
    isLinked ? ((await getJson("api/v1/status/flags", signal)) as FlagsAnswer) : undefined,
  );
  const template = flags.value?.data["gpulse.trace-url"];
  return found
    .map(({ labels, value: text, timestamp }) => ({
      timeMs: timestamp * 1_000,
      value: readNumber(text),
      text: [text, ...Object.entries(labels).map(([name, of]) => `${name} ${of}`)].join("\n"),
      ...traceOf(template, labels),
    }))
    .filter(({ value: number }) => Number.isFinite(number))
    .sort((a, b) => a.timeMs - b.timeMs)
    .slice(-MOST_DOTS);
}
