// The main program of the inference gateway.

import { randomUUID } from "node:crypto";

import { connectRedis } from "../queue/connection.ts";
import { openResults } from "../results/store.ts";
import { listen, createDemoServer } from "../run/http.ts";
import { makeLog } from "../run/log.ts";
import { runProgram } from "../run/program.ts";
import { listenSettings, readSettings } from "../run/settings.ts";
import { startTracing } from "../run/tracing.ts";
import { countRequests, gatewayMetrics, tellState } from "./metrics.ts";
import { listenForReplies } from "./replies.ts";
import { addRoutes } from "./routes.ts";

await runProgram("gateway", async () => {
  const settings = readSettings(process.env, (from) => ({
    ...listenSettings(from, 8000),
    redisUrl: from.url("REDIS_URL", "redis://127.0.0.1:6379"),
    databaseUrl: from.url("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"),
    poolSize: from.integer("DB_POOL_SIZE", 10, { least: 1, most: 100 }),
    queueLimit: from.integer("QUEUE_LIMIT", 200, { least: 1 }),
    timeoutSeconds: from.number("TIMEOUT_SECONDS", 30, { least: 0.1, most: 600 }),
    cacheSeconds: from.integer("CACHE_SECONDS", 30, { least: 1 }),
    idleBatchSeconds: from.number("IDLE_BATCH_SECONDS", 60, { least: 1, most: 3_600 }),
    delayMs: from.number("DELAY_MS", 0, { most: 60_000 }),
  }));
  const log = makeLog("gateway", { level: settings.logLevel });
  const tracing = startTracing("gateway", settings.tracesUrl);
  const connection = connectRedis(settings.redisUrl, log);
  const results = openResults(settings.databaseUrl, settings.poolSize, log);
  const replies = listenForReplies(settings.redisUrl, randomUUID(), connection, log);
  const metrics = gatewayMetrics();
  const problems = (): readonly string[] =>
    [connection.problem() ?? replies.problem(), results.problem()].filter(
      (problem) => problem !== undefined,
    );
  const server = { ...settings, registry: metrics.registry, log, problems };
  const app = createDemoServer(server);
  const { redis } = connection;
  tellState(metrics, app.server, redis, results, settings.poolSize);
  countRequests(app, metrics);
  addRoutes(app, {
    ...settings,
    redis,
    results,
    replies,
    metrics,
    tracer: tracing.tracer,
    log,
    problems,
  });
  await listen(app, server);
  return {
    log,
    stop: async () => {
      await app.close();
      await replies.stop();
      await connection.stop();
      await results.stop();
      await tracing.stop();
    },
  };
});
