/**
 * Receiver for Influx line protocol, version 1 (`/write`) and version 2 (`/api/v2/write`) clients, and for their initial
 * queries. Valid lines are stored even if others are bad; the response names the first bad one.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { BadLine } from "../../formats/influx/decode.ts";
import { precisions } from "../../formats/influx/scan.ts";
import type { Log } from "../../base/log.ts";
import type { Label } from "../../model/labels.ts";
import { maxBodyBytes } from "./body.ts";
import { malformed, type ReceiveError } from "./failure.ts";
import type { Intake } from "./intake.ts";
import { isAtSeriesLimit, seriesLimitRetrySeconds, formatRejected } from "./rejected-samples.ts";
import { addReceiver, type RequestBodies } from "./receiver.ts";

/** Clients choose protocol features by this version. */
const version = "1.8.10";

export async function addInflux(app: FastifyInstance, intake: Intake, log: Log): Promise<void> {
  await addReceiver(app, {
    receiver: "influx",
    intake,
    log,
    sendError: sendInfluxError,
    routes: (scope, bodies) => {
      scope.post("/write", (request, reply) => take(intake, bodies, request, reply, "db"));
      scope.post("/api/v2/write", (request, reply) =>
        take(intake, bodies, request, reply, "bucket"),
      );
      scope.get("/ping", async (_request, reply) =>
        reply
          .code(204)
          .header("x-influxdb-version", version)
          .header("x-influxdb-build", "OSS")
          .send(),
      );
      scope.route({
        method: ["GET", "POST"],
        url: "/query",
        handler: async (request, reply) => {
          const body = await bodies.plain(request, 64 * 1024);
          const query = paramsOf(request).get("q") ?? new URLSearchParams(body.toString()).get("q");
          return reply.send(responseTo(query ?? ""));
        },
      });
    },
  });
}

async function take(
  intake: Intake,
  bodies: RequestBodies,
  request: FastifyRequest,
  reply: FastifyReply,
  place: "db" | "bucket",
): Promise<FastifyReply> {
  const params = paramsOf(request);
  const database = params.get(place) ?? "";
  const extra: Label | undefined = database === "" ? undefined : ["db", database];
  const unitMs = unitOf(params.get("precision") ?? "ns");
  const body = await bodies.plain(request, maxBodyBytes);
  const hold = bodies.holdOf(request);
  const { decoded, stored } = await intake.decoder.decode(
    "influx",
    body,
    { unitMs, nowMs: intake.nowMs(), extra },
    hold,
    async (result) => ({
      decoded: result,
      stored: await intake.store("influx", result.batch, hold.client),
    }),
  );
  intake.received.add("influx", "text", decoded.texts);
  intake.received.add("influx", "malformed", decoded.badLines);
  const message = [
    formatBadLines(decoded.badLines, decoded.firstBad),
    formatRejected(stored.samples, stored.refused),
  ].filter((part) => part !== undefined);
  if (message.length === 0) return reply.code(204).send();
  if (isAtSeriesLimit(stored)) {
    reply.code(429).header("retry-after", seriesLimitRetrySeconds);
    return reply.send(shape(request, "too many requests", message.join("; ")));
  }
  return reply.code(400).send(shape(request, "invalid", `partial write: ${message.join("; ")}`));
}

const formatBadLines = (count: number, first: BadLine | undefined): string | undefined =>
  first === undefined
    ? undefined
    : `unable to parse line ${first.number}: ${first.sentence}${count === 1 ? "" : `, and ${count - 1} more lines`}`;

function unitOf(name: string): number {
  const unitMs = Object.entries(precisions).find(([known]) => known === name)?.[1];
  if (unitMs !== undefined) return unitMs;
  throw malformed(`unknown precision ${name}: use ns, us, ms, s, m or h`);
}

/** Responses to the queries that clients send before they write. */
function responseTo(query: string): object {
  if (/^\s*create\s+(database|retention\s+policy)\b/i.test(query))
    return { results: [{ statement_id: 0 }] };
  if (/^\s*show\s+databases\b/i.test(query))
    return {
      results: [
        { statement_id: 0, series: [{ name: "databases", columns: ["name"], values: [] }] },
      ],
    };
  throw malformed("InfluxQL queries are not supported: query in PromQL on /api/v1/query");
}

function sendInfluxError(
  failure: ReceiveError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, message } = failure;
  const code =
    status === 413
      ? "request too large"
      : status === 429
        ? "too many requests"
        : status === 503
          ? "unavailable"
          : status >= 500
            ? "internal error"
            : "invalid";
  return reply.send(shape(request, code, message));
}

/** Version 2 has a code and a message, version 1 only an error. */
const shape = ({ url }: FastifyRequest, code: string, message: string): object =>
  url.startsWith("/api/v2/") ? { code, message } : { error: message };

function paramsOf({ url }: FastifyRequest): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}
