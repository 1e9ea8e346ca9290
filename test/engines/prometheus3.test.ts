// Every function, operator and aggregation on native histograms, histograms with custom buckets, classic ones, floats and mixes of
// them: our engine answers as a real Prometheus 3 does, with the same warnings and infos at the same positions.

import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startPrometheus3 } from "../../engines/prometheus3.ts";
import { isReset } from "../../src/model/histogram/arithmetic.ts";
import type { Histogram } from "../../src/model/histogram/histogram.ts";
import { createEngine } from "../../src/query/engine.ts";
import { MemoryStore } from "../../src/query/memory-store.ts";
import { responseParts } from "../../src/query/response.ts";
import type { SeriesLine } from "../promql/script.ts";
import { type ApiAnswer, type Ask, askOf, differenceOf } from "./prometheus3-compare.ts";
import { queries, samples } from "./prometheus3-queries.ts";
import { gapMs, readSamples, sendRequest, writeRequests } from "./prometheus3-samples.ts";

const features = [
  "promql-experimental-functions",
  "promql-delayed-name-removal",
  "promql-extended-range-selectors",
  "promql-binop-fill-modifiers",
];

/** The samples as a store returns them: the hint of a counter is that of the samples, not of the sender. */
function storeOf(series: readonly SeriesLine[], startMs: number): MemoryStore {
  const store = new MemoryStore();
  for (const { labels, points } of series) {
    let before: Histogram | undefined;
    for (const [index, point] of points.entries()) {
      if (point === undefined) continue;
      const timeMs = startMs + index * gapMs;
      const { histogram, value, stale } = point;
      if (histogram === undefined) store.append(labels, timeMs, value, stale);
      else if (histogram.resetHint === "gauge") store.appendHistogram(labels, timeMs, histogram);
      else {
        const isContinued = before !== undefined && !isReset(histogram, before);
        const resetHint = isContinued ? "no-reset" : "unknown";
        store.appendHistogram(labels, timeMs, { ...histogram, resetHint });
      }
      before = histogram?.resetHint === "gauge" ? undefined : histogram;
    }
  }
  return store;
}

function askEngine(store: MemoryStore): Ask {
  const engine = createEngine();
  return async ({ query, start, end, step }) => {
    try {
      const result =
        step === undefined
          ? await engine.instant(query, end * 1_000, store)
          : await engine.range(query, start * 1_000, end * 1_000, step * 1_000, store);
      const parts = [...responseParts(result, { limit: 0, stats: "none" })];
      return JSON.parse(Buffer.concat(parts).toString()) as ApiAnswer;
    } catch (thrown) {
      return { status: "error", error: thrown instanceof Error ? thrown.message : String(thrown) };
    }
  };
}

test("every function and operator answers as Prometheus 3, annotations included", async (context) => {
  const server = await orSkip(
    context,
    startPrometheus3({
      config: {},
      logLevel: "warn",
      args: [`--enable-feature=${features.join(",")}`],
    }),
  );
  try {
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
    const series = readSamples(samples);
    for (const body of writeRequests(series, startMs)) await sendRequest(server.url, body);
    const [ours, theirs] = [askEngine(storeOf(series, startMs)), askOf(server.url)];
    const start = startMs / 1_000;
    const end = start + 590;
    const different: string[] = [];
    let annotated = 0;
    for (const query of queries)
      for (const asked of [
        { query, start, end },
        { query, start: start + 30, end, step: 40 },
      ]) {
        const [mine, wanted] = [await ours(asked), await theirs(asked)];
        if (wanted.warnings !== undefined || wanted.infos !== undefined) annotated++;
        const difference = differenceOf(mine, wanted);
        if (difference !== undefined) different.push(`${query}: ${difference.slice(0, 600)}`);
      }
    expect(different).toEqual([]);
    expect(annotated).toBeGreaterThan(1_000);
  } finally {
    await server.stop();
  }
}, 600_000);
