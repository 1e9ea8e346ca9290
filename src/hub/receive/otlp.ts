/**
 * Receiver for OTLP metrics over HTTP, protobuf or JSON, on OpenTelemetry's own path and on Prometheus's. Rejected points are
 * reported as a partial success, in the encoding of the request.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DeltaTotals, describeRefusedDeltas } from "../../formats/otlp/decode/delta.ts";
import { partialSuccess, statusMessage } from "../../formats/otlp/decode/response.ts";
import type { Log } from "../../base/log.ts";
import { maxBodyBytes, maxJsonBytes } from "./body.ts";
import { type ReceiveError, unsupported } from "./failure.ts";
import type { Intake } from "./intake.ts";
import { countRejected, formatRejected } from "./rejected-samples.ts";
import { addReceiver } from "./receiver.ts";

const paths = ["/v1/metrics", "/api/v1/otlp/v1/metrics"];

/** google.rpc.Code */
const codes = { invalidArgument: 3, resourceExhausted: 8, internal: 13, unavailable: 14 } as const;

export async function addOtlp(app: FastifyInstance, intake: Intake, log: Log): Promise<void> {
  const totals = new DeltaTotals();
  await addReceiver(app, {
    receiver: "otlp",
    intake,
    log,
    sendError: sendOtlpError,
    routes: (scope, bodies) => {
      const handler = async (
        request: FastifyRequest,
        reply: FastifyReply,
      ): Promise<FastifyReply> => {
        const json = isJson(request);
        const body = await bodies.plain(request, json ? maxJsonBytes : maxBodyBytes);
        const hold = bodies.holdOf(request);
        const { decoded, stored } = await intake.decoder.decode(
          "otlp",
          body,
          { ...intake.ingest, json },
          hold,
          async (result) => {
            const total = totals.accumulate(result.batch, result.deltaSeries, performance.now());
            const written = await intake.store("otlp", total.batch, hold.client);
            return { decoded: { ...result, ...total }, stored: written };
          },
        );
        const { unspecified, malformed: bad, outOfOrder, overLimit } = decoded;
        intake.received.add("otlp", "temporality", unspecified);
        intake.received.add("otlp", "delta_out_of_order", outOfOrder);
        intake.received.add("otlp", "delta_limit", overLimit);
        intake.received.add("otlp", "malformed", bad);
        const problem = decoded.problem ?? describeRefusedDeltas(decoded);
        const refused = formatRejected(stored.samples, stored.refused);
        const message = [problem, refused].filter((part) => part !== undefined).join("; ");
        const rejected = unspecified + outOfOrder + overLimit + bad + countRejected(stored.refused);
        return reply
          .type(json ? "application/json" : "application/x-protobuf")
          .send(partialSuccess(rejected, message, json));
      };
      for (const path of paths) scope.post(path, handler);
    },
  });
}

function isJson(request: FastifyRequest): boolean {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return true;
  if (type === "application/x-protobuf" || type === "application/protobuf") return false;
  throw unsupported(
    `${type === "" ? "a request without a content type" : `content type ${type}`} is not supported: send application/x-protobuf or application/json`,
  );
}

function sendOtlpError(
  failure: ReceiveError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, message } = failure;
  const code =
    status === 429
      ? codes.resourceExhausted
      : status === 503
        ? codes.unavailable
        : status >= 500
          ? codes.internal
          : codes.invalidArgument;
  const json = (request.headers["content-type"] ?? "").startsWith("application/json");
  return reply
    .type(json ? "application/json" : "application/x-protobuf")
    .send(statusMessage(code, message, json));
}
