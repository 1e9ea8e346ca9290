/**
 * Compiles the query path before the first user needs it. V8 optimizes a function after many runs, so the first queries of a
 * new hub would take several times as long as later ones. While the hub is idle, parser, evaluator and encoder run over a small
 * store in memory: no sample, counter or limit of the hub is affected.
 */
import querystring from "node:querystring";
import { setTimeout as sleep } from "node:timers/promises";
import { fastify, type FastifyInstance } from "fastify";
import type { Log } from "../base/log.ts";
import { type LabelSet, labelSet } from "../model/labels.ts";
import { createEngine } from "../query/engine.ts";
import { Head } from "../storage/embedded/head/head.ts";
import { LabelIndex } from "../storage/embedded/index/index.ts";
import { StoreReader } from "../storage/embedded/reader.ts";
import { emptyRollups } from "../storage/embedded/rollups/state.ts";
import { noHistograms } from "../storage/embedded/wal/records.ts";
import { acceptForms } from "./api/params.ts";
import { addQueries } from "./api/queries.ts";

/** Runs per query: its time does not fall any further after that. */
const rounds = 25;
/** Delay, so that a hub in use or stopping right after its start is not slowed down. */
const startAfterMs = 1_000;
/** Idle time after each step, as a multiple of the step: a request that arrives meanwhile waits for one step at most. */
const idleShare = 2;
/** Above this utilisation by other work the hub has users already: the warm-up waits. */
const busyShare = 0.5;
const busyWaitMs = 500;
/** Maximum working time, without the pauses. */
const longestWorkMs = 1_000;
/** Gives up after this time: a hub that is always busy is warm by its own work. */
const giveUpMs = 120_000;

const gpus = 32;
const samples = 120;
const stepMs = 5_000;
/** An arbitrary time: the store contains nothing else. */
const endMs = 1_700_000_000_000;
/** Not a whole second: V8 would discard what it compiled at the first fraction of a user's query. */
const askedMs = endMs - 500;

const instantQueries = [
  "power_watts",
  'power_watts{host="node-1"}',
  'power_watts{gpu=~"1.*"} > 100',
  "sum by (host) (power_watts)",
  "avg without (gpu) (power_watts) / 2",
  "topk(5, power_watts)",
  "sum by (host) (rate(energy_joules_total[2m]))",
  "max_over_time(power_watts[5m])",
  "quantile_over_time(0.9, power_watts[5m])",
  "power_watts * on (host, gpu) group_left (model) info",
  '{__name__=~"power.*|energy.*"}',
] as const;
const rangeQueries = [
  "power_watts",
  "sum by (host) (power_watts)",
  "rate(energy_joules_total[2m])",
  "topk(5, power_watts)",
] as const;

export interface WarmUp {
  close(): Promise<void>;
}

export function startWarmUp(log: Log): WarmUp {
  const closing = new AbortController();
  const running = warmUp(closing.signal, log).catch((thrown: unknown) => {
    if (!closing.signal.aborted) throw thrown;
  });
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

async function warmUp(signal: AbortSignal, log: Log): Promise<void> {
  await sleep(startAfterMs, undefined, { signal, ref: false });
  const app = practiceApp(log);
  const lastMs = performance.now() + giveUpMs;
  let workMs = 0;
  for (let round = 0; round < rounds; round++)
    for (const request of practiceRequests) {
      await whileBusy(signal, lastMs);
      const beganMs = performance.now();
      if (beganMs > lastMs || workMs > longestWorkMs) return;
      // Grafana sends forms, most scripts and pages the query in the URL.
      await app.inject(round % 2 === 0 ? toGet(request) : request);
      const tookMs = performance.now() - beganMs;
      workMs += tookMs;
      await sleep(idleShare * tookMs, undefined, { signal, ref: false });
    }
}

const form = (url: string, fields: Readonly<Record<string, string | number>>) => ({
  method: "POST" as const,
  url,
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: querystring.stringify(fields),
});

export const toGet = ({ url, body }: ReturnType<typeof form>) => ({
  method: "GET" as const,
  url: `${url}?${body}`,
});

export const practiceRequests = [
  ...instantQueries.map((query) => form("/api/v1/query", { query, time: askedMs / 1_000 })),
  ...rangeQueries.map((query) =>
    form("/api/v1/query_range", {
      query,
      start: (askedMs - samples * stepMs) / 1_000,
      end: askedMs / 1_000,
      step: (4 * stepMs) / 1_000,
    }),
  ),
];

/** The query routes over the small store. */
export function practiceApp(log: Log): FastifyInstance {
  const engine = createEngine();
  const store = practiceStore();
  const app = fastify();
  acceptForms(app);
  addQueries(app, {
    history: {
      instant: (query, timeMs, options) => engine.instant(query, timeMs, store, options),
      range: (query, fromMs, toMs, everyMs, options) =>
        engine.range(query, fromMs, toMs, everyMs, store, options),
    },
    log,
    nowMs: () => endMs,
  });
  return app;
}

/** Waits until the event loop is idle enough. */
async function whileBusy(signal: AbortSignal, lastMs: number): Promise<void> {
  const before = performance.eventLoopUtilization();
  await sleep(1, undefined, { signal, ref: false });
  while (performance.eventLoopUtilization(before).utilization > busyShare) {
    if (performance.now() > lastMs) return;
    await sleep(busyWaitMs, undefined, { signal, ref: false });
  }
}

function practiceStore(): StoreReader {
  const index = new LabelIndex();
  const head = new Head(0);
  const values = new Float64Array(1);
  const words = new Uint32Array(values.buffer);
  const columns = {
    n: 1,
    refs: new Uint32Array(1),
    times: new Float64Array(1),
    values,
    words,
    histograms: [],
    encoded: noHistograms,
  };
  const add = (labels: LabelSet, valueAt: (step: number) => number): void => {
    columns.refs[0] = index.add(labels);
    for (let step = 0; step < samples; step++) {
      values[0] = valueAt(step);
      columns.times[0] = endMs - (samples - step) * stepMs;
      head.append(columns, 0, false);
    }
  };
  for (let gpu = 0; gpu < gpus; gpu++) {
    const place = { gpu: String(gpu), host: `node-${gpu >> 3}`, job: "warm-up" };
    add(labelSet({ __name__: "power_watts", ...place }), (step) => 80 + ((gpu * 37 + step) % 300));
    add(labelSet({ __name__: "energy_joules_total", ...place }), (step) => 1 + step * 1_000.5);
    add(labelSet({ __name__: "info", model: "a GPU", ...place }), () => 1);
  }
  return new StoreReader(() => ({
    index,
    head,
    blocks: [],
    quarantine: { unopened: [], unopenedRollups: [], parts: [] },
    goneBeforeMs: -Infinity,
    rollups: emptyRollups,
    rules: [],
  }));
}
