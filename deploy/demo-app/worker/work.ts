// Processes one job: query the model, write the result to PostgreSQL, notify the gateway, and only then release the job. A result
// that cannot be written occupies its slot until it can; meanwhile no more jobs are taken than there are slots.

import { setTimeout as sleep } from "node:timers/promises";

import { SpanKind, trace, type Tracer } from "@opentelemetry/api";

import type { Redis } from "../queue/connection.ts";
import { type Job, keys, parseJob, type Result } from "../queue/job.ts";
import { putBack } from "../queue/take.ts";
import type { ResultStore } from "../results/store.ts";
import { type Log, reasonOf } from "../run/log.ts";
import { contextFrom, inSpan } from "../run/tracing.ts";
import type { WorkerMetrics } from "./metrics.ts";
import { complete, train } from "./model.ts";

const RETRY_MS = 500;

export interface WorkParts {
  readonly redis: Redis;
  readonly results: ResultStore;
  readonly metrics: WorkerMetrics;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly worker: string;
  readonly modelUrl: string;
  readonly cacheSeconds: number;
  /** Aborted when the worker stops: jobs that wait for an unavailable server are left to the next worker. */
  readonly stopping: AbortSignal;
}

export async function workOn(text: string, parts: WorkParts): Promise<void> {
  const job = parseJob(text);
  const { metrics, tracer, log, redis, worker, stopping } = parts;
  const takenMs = Date.now();
  metrics.waited.observe({ queue: job.queue }, Math.max(0, takenMs - job.enqueuedMs) / 1000);
  const attributes = { "messaging.system": "redis", "messaging.message.id": job.id };
  const how = { kind: SpanKind.CONSUMER, attributes, parent: contextFrom(job.trace) };
  await inSpan(tracer, `process ${job.queue}`, how, async () => {
    try {
      const result = await resultOf(job, parts);
      await inSpan(tracer, "INSERT results", { kind: SpanKind.CLIENT }, () =>
        untilDone(parts, "write a result", () => parts.results.write(result)),
      );
      await untilDone(parts, "report a result", () => settle(text, job, result, parts));
      const { outcome } = result;
      metrics.jobs.inc({ queue: job.queue, outcome });
      metrics.seconds.observe({ queue: job.queue }, (Date.now() - takenMs) / 1000);
      log.info("job done", { job_id: job.id, queue: job.queue, outcome });
    } catch (error) {
      log.warn("job put back", { job_id: job.id, queue: job.queue, error: reasonOf(error) });
      if (!stopping.aborted) trace.getActiveSpan()?.addEvent("put back");
      // If Redis is down too, the job stays on our list, and another worker puts it back once our alive key has expired.
      await putBack(redis, job.queue, worker, text).catch((again: unknown) =>
        log.warn("job left to recovery", { job_id: job.id, error: reasonOf(again) }),
      );
    }
  });
}

async function resultOf(job: Job, parts: WorkParts): Promise<Result> {
  const { id, queue } = job;
  const leftMs = (job.deadlineMs ?? Infinity) - Date.now();
  const ended = (outcome: Result["outcome"], body: Result["body"]): Result => ({
    id,
    queue,
    outcome,
    body,
    finishedMs: Date.now(),
  });
  if (leftMs <= 0) return ended("expired", { error: "nobody waited for it any more" });
  const kind = { kind: SpanKind.CLIENT };
  try {
    const body = await inSpan(parts.tracer, `ask the model (${queue})`, kind, () =>
      job.queue === "batch"
        ? train(parts.modelUrl, id, job.work, parts.stopping)
        : complete(parts.modelUrl, job.work, leftMs),
    );
    return ended("ok", body);
  } catch (error) {
    if (job.queue === "batch" && parts.stopping.aborted) throw error;
    return ended("failed", { error: reasonOf(error) });
  }
}

async function settle(text: string, job: Job, result: Result, parts: WorkParts): Promise<void> {
  const reported = JSON.stringify(result);
  const expiration = { type: "EX", value: parts.cacheSeconds } as const;
  const steps = parts.redis
    .multi()
    .set(keys.result(job.id), reported, { expiration })
    .lRem(keys.taken(job.queue, parts.worker), 1, text);
  if (job.replyTo !== undefined) steps.publish(keys.replies(job.replyTo), reported);
  await steps.exec();
}

/** Retries until it succeeds; throws only when the worker stops. */
async function untilDone<T>(parts: WorkParts, what: string, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (parts.stopping.aborted) throw error;
      parts.metrics.retries.inc();
      if (attempt === 1) parts.log.warn(`could not ${what} yet`, { error: reasonOf(error) });
      await sleep(RETRY_MS, undefined, { signal: parts.stopping });
    }
  }
}
