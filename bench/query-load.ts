/**
 * What heavy queries cost everybody else: `node scripts/run-ts.mjs bench/query-load.ts --tools`. 64 GPUs × 40 series × 6 h
 * in the hub and in Prometheus; then `/-/healthy` and a small instant query every 10 ms, first alone, then beside four
 * range queries over all series that run all the time. Prints p50 and p99. BENCH_SECONDS=20 is the time under load,
 * BENCH_ENGINES=hub measures the hub alone, BENCH_UNDER is put before the hub's command (`taskset -c 0,1`).
 */
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFleet } from "./hub-data.ts";
import { type Engine, ingest, startHubEngine, startPrometheusEngine } from "./hub-engines.ts";
import { type BenchQuery, ask } from "./hub-queries.ts";
import { startProbe } from "./hub-probing.ts";

export interface Waits {
  readonly healthy: readonly number[];
  readonly instant: readonly number[];
}

export interface QueryLoad {
  readonly quiet: Waits;
  readonly loaded: Waits;
  /** Heavy queries answered under load. */
  readonly heavy: number;
}

const small = "/api/v1/query?query=gpu_power_watts%7Bgpu%3D%220%22%7D&time=";

/** Three walk all 2,560 series, one looks at 16 million samples of 64. */
const heavyQueries = [
  '{job="gpulse"}',
  'quantile by (host) (0.95, {job="gpulse"})',
  'sum by (host) (last_over_time({job="gpulse"}[5m]))',
  "quantile_over_time(0.95, gpu_power_watts[1h])",
];

export const quantile = (waits: readonly number[], share: number): number =>
  waits.toSorted((a, b) => a - b)[Math.min(waits.length - 1, Math.floor(waits.length * share))] ??
  Number.NaN;

export async function measureQueryLoad(
  engine: Engine,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  seconds: number,
): Promise<QueryLoad> {
  const range = { startMs: startMs + 302_500, endMs: endMs - 2_500, stepMs: 60_000 };
  const questions = heavyQueries.map((query): BenchQuery => ({
    name: query,
    query,
    range,
    timeMs: endMs,
  }));
  // Compiled and cached on both sides before anything is measured.
  for (const question of questions) await ask(engine, question);
  const paths = { healthy: "/-/healthy", instant: small + String((endMs - 2_500) / 1_000) };
  await probed(engine, paths, () => sleep(2_000));
  const quiet = await probed(engine, paths, () => sleep(Math.min(seconds, 5) * 1_000));
  const until = performance.now() + seconds * 1_000;
  let heavy = 0;
  const loaded = await probed(engine, paths, async () => {
    await Promise.all(
      questions.map(async (question) => {
        while (performance.now() < until) {
          await ask(engine, question);
          heavy++;
        }
      }),
    );
  });
  return { quiet, loaded, heavy };
}

async function probed(
  { url }: Engine,
  paths: Readonly<Record<keyof Waits, string>>,
  work: () => Promise<void>,
): Promise<Waits> {
  const [healthy, instant] = [
    startProbe(url, 10, paths.healthy),
    startProbe(url, 10, paths.instant),
  ];
  await work();
  return { healthy: await healthy.stop(), instant: await instant.stop() };
}

async function main(): Promise<void> {
  const [steps, stepMs] = [4_320, 5_000];
  const seconds = Number(process.env["BENCH_SECONDS"] ?? "20");
  const only = process.env["BENCH_ENGINES"];
  const startMs = Math.floor(Date.now() / 60_000) * 60_000 - (steps - 1) * stepMs;
  const endMs = startMs + (steps - 1) * stepMs;
  const { senders } = encodeFleet({ gpus: 64, steps, stepMs, startMs }, 4);
  const under = process.env["BENCH_UNDER"]?.split(" ") ?? [];
  const startHub = (): Promise<Engine> => startHubEngine(under);
  for (const start of only === "hub" ? [startHub] : [startHub, startPrometheusEngine]) {
    const engine = await start();
    try {
      await ingest(engine, senders);
      await engine.settle();
      const { quiet, loaded, heavy } = await measureQueryLoad(engine, { startMs, endMs }, seconds);
      console.log(`${engine.name}: ${heavy} heavy queries in ${seconds} s`);
      for (const name of ["healthy", "instant"] as const) {
        const text = (waits: readonly number[]): string =>
          `p50 ${quantile(waits, 0.5).toFixed(2)} p99 ${quantile(waits, 0.99).toFixed(2)} max ${Math.max(...waits).toFixed(1)} ms (${waits.length})`;
        console.log(`  ${name}: quiet ${text(quiet[name])}; loaded ${text(loaded[name])}`);
      }
    } finally {
      await engine.stop();
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
