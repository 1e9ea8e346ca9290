// The gateway's routes: completions through the queue, results, batch work, and the webhook with which an idle GPU requests work.
// While Redis or PostgreSQL is unavailable it responds with 503 instead of letting clients wait.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { SpanKind, type Tracer } from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";

import type { Redis } from "../queue/connection.ts";
import {
  type BatchWork,
  type Job,
  keys,
  parseResult,
  type Result,
  retryAfterSeconds,
} from "../queue/job.ts";
import { offer } from "../queue/offer.ts";
import type { ResultStore } from "../results/store.ts";
import { HttpError } from "../run/http.ts";
import { type Log, reasonOf } from "../run/log.ts";
import { contextFrom, contextHeaders, inSpan } from "../run/tracing.ts";
import { batchAsked, completionAsked, idleGpus } from "./requests.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { Replies } from "./replies.ts";

export interface GatewayParts {
  readonly redis: Redis;
  readonly results: ResultStore;
  readonly replies: Replies;
  readonly metrics: GatewayMetrics;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly problems: () => readonly string[];
  readonly queueLimit: number;
  readonly timeoutSeconds: number;
  readonly cacheSeconds: number;
  readonly idleBatchSeconds: number;
  /** A fault for demonstrations: every request is delayed by this. */
  readonly delayMs: number;
}

/** Completions per second of one fleet, for Retry-After; an estimate is sufficient there. */
const PER_SECOND = 20;

export function addRoutes(app: FastifyInstance, parts: GatewayParts): void {
  const { redis, results, replies, metrics, tracer, log } = parts;
  let { delayMs } = parts;

  const traced = <T>(request: FastifyRequest, run: () => Promise<T>): Promise<T> => {
    const route = request.routeOptions.url ?? "none";
    const attributes = { "http.request.method": request.method, "http.route": route };
    const how = { kind: SpanKind.SERVER, attributes, parent: contextFrom(request.headers) };
    return inSpan(tracer, `${request.method} ${route}`, how, async () => {
      if (delayMs > 0) await sleep(delayMs);
      return run();
    });
  };

  app.post("/v1/completions", (request, reply) =>
    traced(request, async () => {
      const work = completionAsked(request.body);
      needAll();
      const id = randomUUID();
      reply.header("x-job-id", id);
      const limitMs = parts.timeoutSeconds * 1000;
      const nowMs = Date.now();
      const answered = replies.waitFor(id, limitMs);
      const base = { id, enqueuedMs: nowMs, deadlineMs: nowMs + limitMs, replyTo: replies.name };
      await enqueue((trace) => ({ ...base, trace, queue: "completions", work }));
      const result = await answered;
      log.info("completion", { job_id: id, outcome: result?.outcome ?? "timeout" });
      return completionAnswer(id, result);
    }),
  );

  app.get<{ Params: { id: string } }>("/v1/jobs/:id", (request) =>
    traced(request, async () => {
      const { id } = request.params;
      const result = (await cached(id)) ?? (await stored(id));
      if (result !== undefined) return result;
      throw new HttpError(404, "not_found", `there is no result of job ${id}, or not yet`);
    }),
  );

  app.post("/v1/batch", (request, reply) =>
    traced(request, async () => {
      const id = await enqueueBatch(batchAsked(request.body));
      reply.code(202);
      return { id, status: "queued" };
    }),
  );

  app.post("/idle", (request) =>
    traced(request, async () => {
      const gpus = idleGpus(request.body);
      metrics.idleAlerts.inc(gpus.length);
      const queued: { readonly gpu: number; readonly id: string }[] = [];
      for (const gpu of gpus) {
        const id = await giveWork(gpu);
        if (id === undefined) continue;
        queued.push({ gpu, id });
        log.info("an idle GPU gets batch work", { gpu, job_id: id });
      }
      return { queued };
    }),
  );

  app.post<{ Body: { delay_ms?: unknown } | null }>("/fault", (request) => {
    const given = request.body?.delay_ms ?? 0;
    if (typeof given !== "number" || given < 0 || given > 60_000)
      throw new HttpError(400, "invalid_request", "delay_ms must be a number from 0 to 60000");
    delayMs = given;
    return { delay_ms: delayMs };
  });

  function needAll(): void {
    const problems = parts.problems();
    if (problems.length > 0) throw new HttpError(503, "unavailable", problems.join("; "), 1);
  }

  async function enqueue(jobWith: (trace: Record<string, string>) => Job): Promise<void> {
    needAll();
    const depth = await inSpan(tracer, "publish", { kind: SpanKind.PRODUCER }, async (span) => {
      const job = jobWith(contextHeaders());
      span.updateName(`publish ${job.queue}`);
      span.setAttributes({ "messaging.system": "redis", "messaging.message.id": job.id });
      return offer(redis, job, parts.queueLimit).catch((error: unknown) => {
        throw new HttpError(503, "unavailable", `Redis is away: ${reasonOf(error)}`, 1);
      });
    });
    if (depth === undefined) return;
    metrics.rejected.inc();
    const after = retryAfterSeconds(depth, parts.queueLimit, PER_SECOND);
    throw new HttpError(503, "queue_full", `${depth} jobs are waiting already`, after);
  }

  async function enqueueBatch(work: BatchWork): Promise<string> {
    const id = randomUUID();
    const enqueuedMs = Date.now();
    await enqueue((trace) => ({ id, enqueuedMs, trace, queue: "batch", work }));
    return id;
  }

  /** Undefined if the GPU already got work: a firing alert is sent repeatedly. */
  async function giveWork(gpu: number): Promise<string | undefined> {
    needAll();
    const seconds = parts.idleBatchSeconds;
    const expiration = { type: "PX", value: Math.ceil(seconds * 2_000) } as const;
    const how = { condition: "NX", expiration } as const;
    if ((await redis.set(keys.idle(gpu), "1", how)) === null) return undefined;
    try {
      return await enqueueBatch({ gpu, seconds });
    } catch (error) {
      await redis.del(keys.idle(gpu)).catch(() => 0);
      throw error;
    }
  }

  async function cached(id: string): Promise<Result | undefined> {
    if (!redis.isReady) return undefined;
    const found = await redis.get(keys.result(id)).catch(() => null);
    metrics.cache.inc({ result: found === null ? "miss" : "hit" });
    return found === null ? undefined : parseResult(found);
  }

  async function stored(id: string): Promise<Result | undefined> {
    const found = await results.find(id).catch((error: unknown) => {
      throw new HttpError(503, "unavailable", `PostgreSQL is away: ${reasonOf(error)}`, 1);
    });
    if (found !== undefined && redis.isReady) {
      const expiration = { type: "EX", value: parts.cacheSeconds } as const;
      // If the cache cannot be written, the next reader queries the database, nothing worse.
      await redis.set(keys.result(id), JSON.stringify(found), { expiration }).catch(() => null);
    }
    return found;
  }
}

function completionAnswer(id: string, result: Result | undefined): Record<string, unknown> {
  if (result === undefined || result.outcome === "expired")
    throw new HttpError(504, "timeout", `no answer in time; GET /v1/jobs/${id} may have it later`);
  if (result.outcome === "failed") {
    const reason = result.body["error"];
    throw new HttpError(502, "model_failed", typeof reason === "string" ? reason : "no reason");
  }
  return { ...result.body, id };
}
