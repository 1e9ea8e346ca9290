/**
 * The effect of heavy queries on other requests: `/-/healthy` and a small instant query are requested every 10 ms, first alone,
 * then beside four range queries that run all the time.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./hub-engines.ts";
import { ask, type BenchQuery } from "./hub-queries.ts";
import { startProbe } from "./hub-probing.ts";

/** Milliseconds of each response. */
export interface ProbeWaits {
  readonly healthy: readonly number[];
  readonly instant: readonly number[];
}

export interface QueryLoad {
  readonly quiet: ProbeWaits;
  readonly loaded: ProbeWaits;
  /** Heavy queries answered under load. */
  readonly heavy: number;
}

/** Three queries read all 2,560 series, one reads millions of samples of 64. */
const heavyQueries = [
  '{job="gpulse"}',
  'quantile by (host) (0.95, {job="gpulse"})',
  'sum by (host) (last_over_time({job="gpulse"}[5m]))',
  "quantile_over_time(0.95, gpu_power_watts[1h])",
];

export async function measureQueryLoad(
  engine: Engine,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  seconds: { readonly quiet: number; readonly loaded: number },
): Promise<QueryLoad> {
  const range = { startMs: startMs + 302_500, endMs: endMs - 2_500, stepMs: 60_000 };
  const questions = heavyQueries.map((query): BenchQuery => ({
    name: query,
    query,
    range,
    timeMs: endMs,
  }));
  const timeS = (endMs - 2_500) / 1_000;
  const instant = new URLSearchParams({ query: 'gpu_power_watts{gpu="0"}', time: String(timeS) });
  const probe = async (work: () => Promise<unknown>): Promise<ProbeWaits> => {
    const healthy = startProbe(engine.url, 10);
    const small = startProbe(engine.url, 10, `/api/v1/query?${instant.toString()}`);
    await work();
    return { healthy: await healthy.stop(), instant: await small.stop() };
  };
  // Once uncounted, so that everything is compiled and cached on every side.
  for (const question of questions) await ask(engine, question);
  await probe(() => sleep(1_000));
  const quiet = await probe(() => sleep(seconds.quiet * 1_000));
  let heavy = 0;
  const loaded = await probe(() => {
    const untilMs = performance.now() + seconds.loaded * 1_000;
    const repeat = async (question: BenchQuery): Promise<void> => {
      for (; performance.now() < untilMs; heavy++) await ask(engine, question);
    };
    return Promise.all(questions.map(repeat));
  });
  return { quiet, loaded, heavy };
}
