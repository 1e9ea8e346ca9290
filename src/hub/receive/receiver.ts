/**
 * A way in as a part of the server: bodies of every content type are read within bounds and handed over as bytes, and what
 * goes wrong is counted and told in the words of that way's own senders.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { formatError } from "../../base/error.ts";
import { BatchTooLargeError } from "../../formats/samples/limits.ts";
import type { Log } from "../../base/log.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { clientOf } from "../limits/client.ts";
import type { AdmissionHold } from "./admission.ts";
import { readBody, unpack } from "./body.ts";
import { ReceiveError } from "./failure.ts";
import type { Intake } from "./intake.ts";
import type { ReceiverName } from "./receiver-counts.ts";

export interface ReceiverOptions {
  readonly way: ReceiverName;
  readonly intake: Intake;
  readonly log: Log;
  /** The answer as this way's senders understand it; status and Retry-After are set. */
  readonly tell: (
    failure: ReceiveError,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => FastifyReply;
  readonly routes: (app: FastifyInstance, bodies: RequestBodies) => void;
}

export interface RequestBodies {
  /** What the request holds of the admission. */
  holdOf(request: FastifyRequest): AdmissionHold;
  /** The body as it came. */
  packed(request: FastifyRequest): Buffer;
  /** The body with gzip or deflate undone. */
  plain(request: FastifyRequest, maxBytes: number): Promise<Buffer>;
}

export async function addReceiver(app: FastifyInstance, options: ReceiverOptions): Promise<void> {
  const { way, intake, log, tell, routes } = options;
  await app.register(async (scope) => {
    const holds = new WeakMap<FastifyRequest, AdmissionHold>();
    const holdOf = (request: FastifyRequest): AdmissionHold => {
      const hold = holds.get(request);
      if (hold === undefined) throw new Error("BUG: a request came in without being announced");
      return hold;
    };
    scope.addHook("onRequest", async (request, reply) => {
      const hold = intake.admission.hold(clientOf(request));
      holds.set(request, hold);
      // `close` comes after an answer and after a sender that hung up.
      reply.raw.once("close", () => hold.release());
    });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) => {
      const hold = holdOf(request);
      const body = await readBody(payload, declaredBytes(request), hold);
      await loopTurns.turn("ingest", hold.client);
      return body;
    });
    scope.setErrorHandler(async (thrown, request, reply) => {
      const failure = failureOf(thrown);
      intake.received.add(way, failure.outcome);
      if (!(thrown instanceof ReceiveError) && failure.status >= 500)
        log.error("a request could not be taken", { way, error: formatError(thrown) });
      reply.code(failure.status).header("cache-control", "no-store");
      if (failure.retryAfterSeconds !== undefined)
        reply.header("retry-after", failure.retryAfterSeconds);
      // What is left of the body is not wanted: the connection ends with the answer.
      if (!request.raw.complete) reply.header("connection", "close");
      return tell(failure, request, reply);
    });
    routes(scope, {
      holdOf,
      packed: bytesOf,
      plain: (request, maxBytes) =>
        unpack(
          bytesOf(request),
          request.headers["content-encoding"]?.trim().toLowerCase(),
          maxBytes,
          holdOf(request),
        ),
    });
  });
}

const bytesOf = ({ body }: FastifyRequest): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.alloc(0);

function declaredBytes({ headers }: FastifyRequest): number | undefined {
  const declared = headers["content-length"];
  return declared === undefined ? undefined : Number(declared);
}

function failureOf(thrown: unknown): ReceiveError {
  if (thrown instanceof ReceiveError) return thrown;
  if (thrown instanceof BatchTooLargeError)
    return new ReceiveError(413, "too_large_request", thrown.message);
  if (thrown instanceof Error && "statusCode" in thrown && typeof thrown.statusCode === "number") {
    const status = thrown.statusCode;
    if (status === 415) return new ReceiveError(415, "unsupported_request", thrown.message);
    if (status < 500) return new ReceiveError(status, "malformed_request", thrown.message);
  }
  if (thrown instanceof Error && "code" in thrown && thrown.code === "ECONNRESET")
    return new ReceiveError(400, "malformed_request", "the body was cut off");
  return new ReceiveError(
    500,
    "failed_request",
    "gpulse could not take this request: its log says why",
    "retry",
  );
}
