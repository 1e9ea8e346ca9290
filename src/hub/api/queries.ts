/** `query`, `query_range`, `format_query`, `parse_query`. */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { QueryOptions, QueryRequest, ResponseBody } from "../../query/engine.ts";
import type { QueryTimes } from "../../query/eval/prepare.ts";
import { pretty } from "../../query/format.ts";
import { parse } from "../../query/parse/parse.ts";
import { type ResponseFormat, responseParts } from "../../query/response.ts";
import { treeJson } from "../../query/tree-json.ts";
import { streamParts } from "../stream-parts.ts";
import { clientOf } from "../limits/client.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError, invalidParameter } from "./failure.ts";
import { Params } from "./params.ts";
import { reserveFor } from "./reserve.ts";
import { success } from "./result.ts";

const both = ["GET", "POST"];
const maxPoints = 11_000;
/**
 * Longest wait in the query queue. Dashboards repeat their queries anyway; a client that waits longer has usually disconnected,
 * and delays those behind it.
 */
const patienceMs = 30_000;

export type QueryContext = Pick<ApiContext, "queryMemory" | "log" | "nowMs"> & {
  readonly history: Pick<ApiContext["history"], "answer" | "instant" | "range">;
};

export function addQueries(app: FastifyInstance, context: QueryContext): void {
  const { nowMs } = context;
  app.route({
    method: both,
    url: "/api/v1/query",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const timeMs = params.timeMs("time", nowMs());
      const times = { startMs: timeMs, endMs: timeMs, stepMs: 0 };
      return answer(context, request, reply, params, times);
    },
  });
  app.route({
    method: both,
    url: "/api/v1/query_range",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const [startMs, endMs] = [required(params, "start"), required(params, "end")];
      if (endMs < startMs)
        throw invalidParameter("end", "end timestamp must not be before start time");
      const stepMs = params.durationMs("step");
      if (stepMs === undefined)
        throw invalidParameter("step", 'cannot parse "" to a valid duration');
      if (stepMs <= 0)
        throw invalidParameter(
          "step",
          "zero or negative query resolution step widths are not accepted. Try a positive integer",
        );
      if ((endMs - startMs) / stepMs > maxPoints) {
        throw new PrometheusApiError(
          "bad_data",
          "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
        );
      }
      return answer(context, request, reply, params, { startMs, endMs, stepMs });
    },
  });
  app.route({
    method: both,
    url: "/api/v1/format_query",
    handler: async (request, reply) =>
      json(reply, JSON.stringify(pretty(parse(Params.of(request).text("query") ?? "")))),
  });
  app.route({
    method: both,
    url: "/api/v1/parse_query",
    handler: async (request, reply) =>
      json(reply, JSON.stringify(treeJson(parse(Params.of(request).text("query") ?? "")))),
  });
}

async function answer(
  context: QueryContext,
  request: FastifyRequest,
  reply: FastifyReply,
  params: Params,
  times: QueryTimes,
): Promise<FastifyReply> {
  const abort = new AbortController();
  // Cancels the query when the client disconnects. Aborting for nothing would make an exception for every response.
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) abort.abort();
  });
  const timeoutMs = params.durationMs("timeout");
  const lookbackMs = params.durationMs("lookback_delta");
  const stats = params.text("stats") ?? "";
  const limit = params.limit();
  const options: QueryOptions = {
    signal: abort.signal,
    perStepStats: stats === "all",
    client: clientOf(request),
    patienceMs,
    reservation: reserveFor(context, request, reply),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(lookbackMs === undefined ? {} : { lookbackMs }),
  };
  const asked = { query: params.text("query") ?? "", ...times };
  const format: ResponseFormat = {
    limit,
    stats: stats === "all" ? "all" : stats === "" ? "none" : "some",
  };
  const body = await bodyOf(context.history, asked, options, format);
  return reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(
      Buffer.isBuffer(body)
        ? body
        : Symbol.asyncIterator in body
          ? Readable.from(body, { objectMode: false })
          : streamParts(body),
    );
}

/** The embedded store may evaluate a large query in a worker thread; external engines return values. */
async function bodyOf(
  history: QueryContext["history"],
  request: QueryRequest,
  options: QueryOptions,
  format: ResponseFormat,
): Promise<ResponseBody> {
  if (history.answer !== undefined) return history.answer(request, options, format);
  const { query, startMs, endMs, stepMs } = request;
  const result =
    stepMs === 0
      ? await history.instant(query, startMs, options)
      : await history.range(query, startMs, endMs, stepMs, options);
  return responseParts(result, format);
}

function required(params: Params, name: string): number {
  if ((params.text(name) ?? "") === "")
    throw invalidParameter(name, 'cannot parse "" to a valid timestamp');
  return params.timeMs(name, 0);
}

const json = (reply: FastifyReply, data: string): FastifyReply =>
  reply.type("application/json").send(success(data));
