// The gateway's metrics: requests by route and status, queues, the cache, the database pool.

import type { Server } from "node:http";

import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

import type { Redis } from "../queue/connection.ts";
import { QUEUES } from "../queue/job.ts";
import { queueState } from "../queue/offer.ts";
import { tellPool } from "../results/pool-metrics.ts";
import type { ResultStore } from "../results/store.ts";
import { REQUEST_SECONDS } from "../run/buckets.ts";

/** Requested by machines all the time, which would hide the users' requests. */
const NOT_COUNTED = new Set(["/metrics", "/healthz", "/readyz"]);

export type GatewayMetrics = ReturnType<typeof gatewayMetrics>;

export function gatewayMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const cache = new Counter({
    name: "gateway_cache_requests_total",
    help: "Reads of the result cache.",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["hit", "miss"]) cache.inc({ result }, 0);
  return {
    registry,
    cache,
    requests: new Counter({
      name: "gateway_http_requests_total",
      help: "Requests answered, by route and status.",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    seconds: new Histogram({
      name: "gateway_http_request_duration_seconds",
      help: "From the request's first byte to the answer's last.",
      labelNames: ["method", "route"],
      buckets: [...REQUEST_SECONDS],
      registers,
    }),
    rejected: new Counter({
      name: "gateway_queue_rejected_total",
      help: "Requests rejected because the queue was full.",
      registers,
    }),
    idleAlerts: new Counter({
      name: "gateway_idle_alerts_total",
      help: "Alerts received that a GPU is idle.",
      registers,
    }),
  };
}

export function countRequests(app: FastifyInstance, metrics: GatewayMetrics): void {
  app.addHook("onResponse", async (request, reply) => {
    // All requests for unknown routes share one series.
    const route = request.routeOptions.url ?? "none";
    if (NOT_COUNTED.has(route)) return;
    const { method } = request;
    metrics.requests.inc({ method, route, status: `${reply.statusCode}` });
    metrics.seconds.observe({ method, route }, reply.elapsedTime / 1000);
  });
}

/** Gauges that are read at each scrape. A value that cannot be read is absent, never 0. */
export function tellState(
  { registry }: GatewayMetrics,
  server: Server,
  redis: Redis,
  results: ResultStore,
  poolSize: number,
): void {
  const registers = [registry];
  const connections: Gauge = new Gauge({
    name: "gateway_active_connections",
    help: "TCP connections open now.",
    registers,
    collect: async () => {
      const count = await new Promise<number>((resolve, reject) =>
        server.getConnections((error, found) => (error ? reject(error) : resolve(found))),
      );
      connections.set(count);
    },
  });
  const queueGauge = (name: string, help: string, of: "depth" | "oldestSeconds"): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: ["queue"],
      registers,
      collect: async () => {
        gauge.reset();
        if (!redis.isReady) return;
        const nowMs = Date.now();
        const states = await Promise.all(QUEUES.map((queue) => queueState(redis, queue, nowMs)))
          // Redis disconnected meanwhile: the page is served without its queues.
          .catch(() => []);
        for (const [index, state] of states.entries())
          gauge.set({ queue: QUEUES[index] ?? "" }, state[of]);
      },
    });
  };
  queueGauge("gateway_queue_depth", "Jobs waiting; absent while Redis is away.", "depth");
  queueGauge(
    "gateway_queue_oldest_seconds",
    "How long the next job has waited, 0 when none waits; absent while Redis is away.",
    "oldestSeconds",
  );
  tellPool(registry, "gateway", results.pool);
  new Gauge({
    name: "gateway_db_pool_size",
    help: "Most connections the pool opens.",
    registers,
  }).set(poolSize);
}
