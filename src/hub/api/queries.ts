/** `query`, `query_range`, `format_query`, `parse_query`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { pretty } from "../../query/format.ts";
import { parse } from "../../query/parse/parse.ts";
import type { Reservation } from "../../query/memory.ts";
import type { QueryData, QueryResult } from "../../query/result.ts";
import { treeJson } from "../../query/tree-json.ts";
import { streamParts } from "../stream-parts.ts";
import { clientOf } from "../limits/client.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError, invalidParameter } from "./failure.ts";
import { Params } from "./params.ts";
import { reserveFor } from "./reserve.ts";
import { queryParts, success } from "./result.ts";

const both = ["GET", "POST"];
const maxPoints = 11_000;
/** Pages and dashboards ask again anyway; a client that waits longer has mostly gone, and holds up those who came after. */
const patienceMs = 30_000;

export type QueryContext = Pick<ApiContext, "queryMemory" | "log" | "nowMs"> & {
  readonly history: Pick<ApiContext["history"], "instant" | "range">;
};

export function addQueries(app: FastifyInstance, context: QueryContext): void {
  const { history, nowMs } = context;
  const reserve = (request: FastifyRequest, reply: FastifyReply): Reservation | undefined =>
    reserveFor(context, request, reply);
  app.route({
    method: both,
    url: "/api/v1/query",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const timeMs = params.timeMs("time", nowMs());
      return answer(request, reply, params, reserve(request, reply), (query, options) =>
        history.instant(query, timeMs, options),
      );
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
      return answer(request, reply, params, reserve(request, reply), (query, options) =>
        history.range(query, startMs, endMs, stepMs, options),
      );
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

interface QueryRequest {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly lookbackMs?: number;
  readonly perStepStats: boolean;
  readonly client: ClientKey;
  readonly patienceMs: number;
  readonly reservation?: Reservation | undefined;
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  params: Params,
  reservation: Reservation | undefined,
  run: (query: string, asked: QueryRequest) => Promise<QueryResult>,
): Promise<FastifyReply> {
  const abort = new AbortController();
  // A client that has gone away no longer wants its answer.
  reply.raw.once("close", () => abort.abort());
  const timeoutMs = params.durationMs("timeout");
  const lookbackMs = params.durationMs("lookback_delta");
  const stats = params.text("stats") ?? "";
  const limit = params.limit();
  const result = await run(params.text("query") ?? "", {
    signal: abort.signal,
    perStepStats: stats === "all",
    client: clientOf(request),
    patienceMs,
    reservation,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(lookbackMs === undefined ? {} : { lookbackMs }),
  });
  const cut = limit > 0 ? limited(result, limit) : result;
  const parts = queryParts(cut, stats === "all" ? "all" : stats === "" ? "none" : "some");
  return reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(streamParts(parts));
}

/** The first so many series, with a warning that there were more. */
function limited(result: QueryResult, limit: number): QueryResult {
  const data: QueryData =
    result.data.type === "vector"
      ? { type: "vector", samples: result.data.samples.slice(0, limit) }
      : result.data.type === "matrix"
        ? { type: "matrix", series: result.data.series.slice(0, limit) }
        : result.data;
  const before =
    result.data.type === "vector"
      ? result.data.samples.length
      : result.data.type === "matrix"
        ? result.data.series.length
        : 0;
  return before <= limit
    ? result
    : { ...result, data, warnings: [...result.warnings, "results truncated due to limit"] };
}

function required(params: Params, name: string): number {
  if ((params.text(name) ?? "") === "")
    throw invalidParameter(name, 'cannot parse "" to a valid timestamp');
  return params.timeMs(name, 0);
}

const json = (reply: FastifyReply, data: string): FastifyReply =>
  reply.type("application/json").send(success(data));
