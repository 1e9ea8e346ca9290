// Runs our PromQL scripts on a real remote engine through the remote history, and returns the cases with different
// results.

import { readdirSync, readFileSync } from "node:fs";

import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { parseStoreAddress } from "../../src/storage/remote/address.ts";
import { openRemoteHistory, type RemoteHistory } from "../../src/storage/remote/remote.ts";
import { silentLog } from "../../src/base/log.ts";
import type { QueryResult } from "../../src/query/result.ts";
import type { Queryable } from "../../src/model/select.ts";
import { type CaseResult, runScript, type ScriptEngine } from "../promql/run.ts";

/**
 * Scripts begin at the epoch, where some engines store nothing: their times are shifted to here, and shifted back in
 * results.
 */
const beginMs = Date.UTC(2026, 0, 1, 12);
/** Queries whose result depends on the absolute time are left out. */
const tiedToItsTime =
  /@|\btime\(|\btimestamp\(|\bts_of_|\b(start|end)\(|\b(minute|hour|month|year|day_of_\w+|days_in_month)\(\)/;

const scripts = new URL("../promql/scripts/", import.meta.url);

export interface ScratchEngine {
  readonly url: string;
  /** Waits until written samples can be read. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export interface Difference extends CaseResult {
  readonly script: string;
}

/** Runs every float case of every script, each script on a fresh engine. The engines here have no native histograms. */
export async function differences(
  start: () => Promise<ScratchEngine>,
  except = /(?!)/,
): Promise<{
  readonly asked: number;
  readonly different: readonly Difference[];
}> {
  let asked = 0;
  const different: Difference[] = [];
  for (const script of readdirSync(scripts).sort()) {
    if (script === "native-histograms.test") continue;
    const server = await start();
    const history = await openRemoteHistory(parseStoreAddress(server.url), silentLog);
    try {
      const engine = engineOver(history, server, except);
      const text = readFileSync(new URL(script, scripts), "utf8");
      const results = await runScript(text, engine, { annotations: false });
      const floats = results.filter(
        ({ native, query }) => !native && !tiedToItsTime.test(query) && !except.test(query),
      );
      asked += floats.length;
      for (const result of floats)
        if (result.problem !== undefined) different.push({ script, ...result });
    } finally {
      await history.close();
      await server.stop();
    }
  }
  return { asked, different };
}

/** Writes a script's samples to the engine before each query, each sample once. */
function engineOver(history: RemoteHistory, server: ScratchEngine, except: RegExp): ScriptEngine {
  const sent = new Set<string>();
  const bring = async (from: Queryable): Promise<void> => {
    const builder = new BatchBuilder();
    for (const { labels, column } of await from.select([], -8e15, 8e15)) {
      const series = builder.series(labels);
      column.times.forEach((timeMs, at) => {
        const key = `${JSON.stringify(labels)}@${timeMs}`;
        if (sent.has(key)) return;
        sent.add(key);
        if (column.stale?.[at] === 1) builder.addStale(series, timeMs + beginMs);
        else builder.add(series, timeMs + beginMs, column.values[at] ?? 0);
      });
    }
    if (builder.sampleCount === 0) return;
    await history.write(builder.finish());
    await server.settle();
  };
  return {
    instant: async (query, timeMs, queryable, options) => {
      if (except.test(query)) throw new Error("not asked");
      await bring(queryable);
      return rebaseTimes(await history.instant(query, timeMs + beginMs, options));
    },
    range: async (query, startMs, endMs, stepMs, queryable, options) => {
      if (except.test(query)) throw new Error("not asked");
      await bring(queryable);
      const [from, to] = [startMs + beginMs, endMs + beginMs];
      return rebaseTimes(await history.range(query, from, to, stepMs, options));
    },
  };
}

function rebaseTimes(result: QueryResult): QueryResult {
  const { data } = result;
  if (data.type === "vector") {
    const samples = data.samples.map((one) => ({ ...one, timeMs: one.timeMs - beginMs }));
    return { ...result, data: { type: "vector", samples } };
  }
  if (data.type !== "matrix")
    return { ...result, data: { ...data, timeMs: data.timeMs - beginMs } };
  const series = data.series.map((one) => ({
    ...one,
    times: one.times.map((timeMs) => timeMs - beginMs),
  }));
  return { ...result, data: { type: "matrix", series } };
}
