/**
 * Compiles the query path before the first user needs it. V8 optimizes a function after many runs, for objects of the kinds it has
 * seen, so the first queries of a new hub would take several times as long as later ones. While the hub is idle, the query engine
 * runs over a small store in memory, and the hub requests its own API over HTTP, with queries of its own series. No sample or counter
 * of the hub is affected.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { PlainConnections } from "../../net/http/plain-connections.ts";
import { createEngine, type ResponseBody } from "../../query/engine.ts";
import type { Store } from "../../storage/embedded/store.ts";
import { ownQueries } from "./own-series.ts";
import { type PracticeQuery, practiceQueries, practiceStore } from "./practice-store.ts";

/** Runs per query: its time does not fall any further after that. */
const rounds = 25;
/** After the full collection of the start (src/base/boot.ts), which would discard compiled code. */
const startAfterMs = 1_000;
/** Work between two pauses: a request that arrives meanwhile waits for that. */
const sliceMs = 4;
/** Idle time after each slice, as a multiple of it. */
const idleShare = 1.5;
/** Above this utilisation by other work the hub has users already: the warm-up waits. */
const busyShare = 0.5;
const busyWaitMs = 500;
/** Maximum working time, without the pauses. */
const longestWorkMs = 1_500;
/** Gives up after this time: a hub that is always busy is warm by its own work. */
const giveUpMs = 120_000;
const maxResponseBytes = 4 * 2 ** 20;

export interface WarmUp {
  close(): Promise<void>;
}

export interface WarmUpOptions {
  readonly store: Pick<Store, "answer" | "metrics" | "newestMs">;
  /** The hub's own URL; undefined while its API cannot be requested over plain HTTP, without credentials and without a limit. */
  readonly url: () => string | undefined;
  readonly log: Log;
}

export function startWarmUp(options: WarmUpOptions): WarmUp {
  const closing = new AbortController();
  const running = warmUp(options, closing.signal).catch((thrown: unknown) => {
    if (!closing.signal.aborted)
      options.log.warn("the warm-up failed: first queries take longer", {
        error: formatError(thrown),
      });
  });
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

async function warmUp({ store, url }: WarmUpOptions, signal: AbortSignal): Promise<void> {
  await sleep(startAfterMs, undefined, { signal, ref: false });
  const lastMs = performance.now() + giveUpMs;
  const engine = createEngine();
  const practice = practiceStore();
  const format = { limit: 0, stats: "none" } as const;
  let connections: PlainConnections | undefined;
  const ownRequest = (query: PracticeQuery): Promise<unknown> => {
    const base = url();
    if (base === undefined) return store.answer(query, {}, format).then(drain);
    connections ??= new PlainConnections(1);
    return connections.get(requestUrl(base, query), {}, maxResponseBytes).response;
  };
  let workMs = 0;
  let sliceBeganMs = 0;
  /** False once the warm-up is over. */
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    const nowMs = performance.now();
    if (nowMs > lastMs || workMs > longestWorkMs) return false;
    await work();
    const tookMs = performance.now() - nowMs;
    workMs += tookMs;
    sliceBeganMs += tookMs;
    if (sliceBeganMs < sliceMs) return true;
    await sleep(idleShare * sliceBeganMs, undefined, { signal, ref: false });
    sliceBeganMs = 0;
    await whileBusy(signal, lastMs);
    return true;
  };
  signal.addEventListener("abort", () => connections?.close(), { once: true });
  try {
    await whileBusy(signal, lastMs);
    for (let round = 0; round < rounds; round++) {
      for (const query of ownQueries(store)) if (!(await run(() => ownRequest(query)))) return;
      for (const query of practiceQueries)
        if (!(await run(() => engine.answer(query, practice, {}, format).then(drain)))) return;
      // Users open connections of their own.
      connections?.close();
      connections = undefined;
    }
  } finally {
    connections?.close();
  }
}

async function drain(body: ResponseBody): Promise<void> {
  if (Buffer.isBuffer(body)) return;
  for await (const _part of body);
}

function requestUrl(base: string, { query, startMs, endMs, stepMs }: PracticeQuery): URL {
  const path = stepMs === 0 ? "api/v1/query" : "api/v1/query_range";
  const seconds = (ms: number): string => String(ms / 1_000);
  const params = new URLSearchParams(
    stepMs === 0
      ? { query, time: seconds(endMs) }
      : { query, start: seconds(startMs), end: seconds(endMs), step: seconds(stepMs) },
  );
  return new URL(`${path}?${params.toString()}`, base);
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
