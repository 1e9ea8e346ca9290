// The main program of the worker: takes jobs from Redis, queries the model server, writes results to PostgreSQL.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

import { connectRedis } from "../queue/connection.ts";
import { type QueueName, QUEUES } from "../queue/job.ts";
import { recoverJobs, sayAlive, sayGone, takeJobs, type Taking } from "../queue/take.ts";
import { tellPool } from "../results/pool-metrics.ts";
import { openResults } from "../results/store.ts";
import { listen, createDemoServer } from "../run/http.ts";
import { makeLog, reasonOf } from "../run/log.ts";
import { every } from "../run/loop.ts";
import { runProgram } from "../run/program.ts";
import { listenSettings, readSettings } from "../run/settings.ts";
import { startTracing } from "../run/tracing.ts";
import { workerMetrics } from "./metrics.ts";
import { workOn } from "./work.ts";

const FORGET_EVERY_MS = 60_000;

await runProgram("worker", async () => {
  const settings = readSettings(process.env, (from) => ({
    ...listenSettings(from, 8001),
    worker: from.text("WORKER_ID", `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`),
    redisUrl: from.url("REDIS_URL", "redis://127.0.0.1:6379"),
    databaseUrl: from.url("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"),
    modelUrl: from.url("ML_URL", "http://127.0.0.1:8002"),
    poolSize: from.integer("DB_POOL_SIZE", 5, { least: 1, most: 100 }),
    concurrency: {
      completions: from.integer("CONCURRENCY", 64, { least: 1, most: 10_000 }),
      batch: from.integer("BATCH_CONCURRENCY", 8, { least: 1, most: 1_000 }),
    } satisfies Record<QueueName, number>,
    aliveMs: from.number("ALIVE_SECONDS", 10, { least: 0.5, most: 600 }) * 1000,
    keepSeconds: from.number("RESULTS_KEEP_SECONDS", 21_600, { least: 60 }),
    cacheSeconds: from.integer("CACHE_SECONDS", 30, { least: 1 }),
  }));
  const { worker, redisUrl, aliveMs } = settings;
  const log = makeLog("worker", { level: settings.logLevel });
  const tracing = startTracing("worker", settings.tracesUrl);
  const connection = connectRedis(redisUrl, log);
  const { redis } = connection;
  const results = openResults(settings.databaseUrl, settings.poolSize, log);
  const stopping = new AbortController();
  const taking = new Map<QueueName, Taking>();
  const metrics = workerMetrics((queue) => taking.get(queue)?.active() ?? 0);
  tellPool(metrics.registry, "worker", results.pool);

  const parts = {
    ...settings,
    redis,
    results,
    metrics,
    tracer: tracing.tracer,
    log,
    stopping: stopping.signal,
  };
  // Only once it is marked as alive, since its jobs would otherwise be put back at once.
  const takeAll = (): void => {
    for (const queue of QUEUES) {
      const concurrency = settings.concurrency[queue];
      const work = (job: string): Promise<void> => workOn(job, parts);
      const how = { url: redisUrl, redis, queue, worker, concurrency, log, work };
      taking.set(queue, takeJobs(how));
    }
  };
  // After Redis was down no worker has renewed its mark yet: they get time to do so.
  let readyMs = Infinity;
  connection.onReady(() => (readyMs = performance.now()));
  const heart = every(Math.min(1_000, aliveMs / 3), async () => {
    try {
      await sayAlive(redis, worker, aliveMs);
      if (taking.size === 0) takeAll();
      if (performance.now() - readyMs < aliveMs) return;
      const recovered = await recoverJobs(redis);
      metrics.recovered.inc(recovered);
      if (recovered > 0) log.warn("jobs of a worker that died were put back", { recovered });
    } catch (error) {
      readyMs = performance.now();
      log.debug("could not say that this worker lives", { error: reasonOf(error) });
    }
  });

  // A demonstration runs for weeks: its table must not keep growing.
  const forgetting = every(FORGET_EVERY_MS, async () => {
    if (results.problem() !== undefined) return;
    await results.forget(Date.now() - settings.keepSeconds * 1000).catch((error: unknown) => {
      log.warn("could not remove old results yet", { error: reasonOf(error) });
    });
  });

  const problems = (): readonly string[] =>
    [connection.problem(), results.problem()].filter((problem) => problem !== undefined);
  const server = { ...settings, registry: metrics.registry, log, problems };
  const app = createDemoServer(server);
  await listen(app, server);
  return {
    log,
    stop: async () => {
      stopping.abort();
      await Promise.all([...taking.values()].map((one) => one.stop()));
      await heart.stop();
      await forgetting.stop();
      await sayGone(redis, worker).catch((error: unknown) =>
        log.warn("left to recovery", { error: reasonOf(error) }),
      );
      await connection.stop();
      await results.stop();
      await app.close();
      await tracing.stop();
    },
  };
});
