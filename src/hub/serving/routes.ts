/**
 * Scraped LLM servers, with their GPUs:
 *
 *   GET /api/serving[?window=5m][&ttft=1s][&itl=100ms][&time=2026-01-31T12:00:00Z]
 */
import type { FastifyInstance } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { formatDuration, parseDurationMs } from "../../config/duration.ts";
import type { Queryable } from "../../model/select.ts";
import { QueryError } from "../../query/errors.ts";
import { hourMs } from "../../runs/jobs/record.ts";
import { pricePerKwh } from "../../runs/jobs/tariff.ts";
import { defaultSlo, defaultWindowMs, type Serving } from "../../view/serving/figures.ts";
import type { JobTariffs } from "../jobs/routes.ts";
import { noStore, sendError } from "../reply.ts";
import { readServing } from "./read.ts";

export interface ServingContext {
  readonly history: Pick<Queryable, "select" | "series">;
  readonly nowMs: () => number;
  readonly hostName: string;
  readonly tariffs?: JobTariffs | undefined;
}

const duration = (shortestMs: number, longestMs: number) => {
  const takes = `a duration from ${formatDuration(shortestMs)} to ${formatDuration(longestMs)}`;
  return v.optional(
    v.pipe(
      v.string(takes),
      v.transform((text) => parseDurationMs(text) ?? Number.NaN),
      v.check((ms) => ms >= shortestMs && ms <= longestMs, takes),
    ),
  );
};
const timeTakes = "a time such as 2026-01-31T12:00:00Z";
const servingQuery = v.strictObject({
  window: duration(30_000, hourMs),
  ttft: duration(1, hourMs),
  itl: duration(1, hourMs),
  time: v.optional(
    v.pipe(
      v.string(timeTakes),
      v.isoTimestamp(timeTakes),
      v.transform((text) => Date.parse(text)),
    ),
  ),
});

/** Identical requests within this time share one result: a page polls every few seconds. */
const freshMs = 2_000;

export function addServing(app: FastifyInstance, context: ServingContext): void {
  const { history, nowMs, hostName, tariffs = {} } = context;
  const answers = new Map<string, { readonly atMs: number; readonly serving: Promise<Serving> }>();

  app.get("/api/serving", async ({ query }, reply) => {
    const checked = checkValue(servingQuery, query);
    if (!checked.ok)
      return sendError(
        reply,
        400,
        checked.problems[0]?.sentence ?? "The request is not understood.",
      );
    const { window: windowMs = defaultWindowMs, ttft, itl, time } = checked.value;
    const askedMs = nowMs();
    const timeMs = time ?? askedMs;
    const slo = {
      timeToFirstTokenSeconds:
        ttft === undefined ? defaultSlo.timeToFirstTokenSeconds : ttft / 1_000,
      interTokenSeconds: itl === undefined ? defaultSlo.interTokenSeconds : itl / 1_000,
    };
    const key = JSON.stringify([windowMs, slo, time]);
    for (const [old, { atMs }] of answers) if (askedMs - atMs >= freshMs) answers.delete(old);
    let answer = answers.get(key);
    if (answer === undefined) {
      const serving = readServing(history, {
        timeMs,
        windowMs,
        slo,
        ownHost: hostName,
        pricePerKwh: tariffs.price && pricePerKwh(tariffs.price, timeMs),
        currency: tariffs.currency,
      });
      answer = { atMs: askedMs, serving };
      answers.set(key, answer);
    }
    try {
      return await noStore(reply).send(await answer.serving);
    } catch (thrown) {
      answers.delete(key);
      if (thrown instanceof QueryError) return sendError(reply, 503, thrown.message);
      throw thrown;
    }
  });
}
