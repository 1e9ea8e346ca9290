/**
 * A way in as a part of the server: bodies of every content type are read within bounds and handed over as bytes, and what
 * goes wrong is counted and told in the words of that way's own senders.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sayError } from "../../base/error.ts";
import { BatchTooLarge } from "../../formats/samples/limits.ts";
import type { Log } from "../../base/log.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { clientOf } from "../limits/client.ts";
import type { Hold } from "./admission.ts";
import { readBody, unpack } from "./body.ts";
import { ReceiveFailure } from "./failure.ts";
import type { Intake } from "./intake.ts";
import type { Way } from "./receiver-counts.ts";

export interface WayOptions {
  readonly way: Way;
  readonly intake: Intake;
  readonly log: Log;
  /** The answer as this way's senders understand it; status and Retry-After are set. */
  readonly tell: (
    failure: ReceiveFailure,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => FastifyReply;
  readonly routes: (app: FastifyInstance, bodies: Bodies) => void;
}

export interface Bodies {
  /** What the request holds of the admission. */
  holdOf(request: FastifyRequest): Hold;
  /** The body as it came. */
  packed(request: FastifyRequest): Buffer;
  /** The body with gzip or deflate undone. */
  plain(request: FastifyRequest, maxBytes: number): Promise<Buffer>;
}

export async function addWay(app: FastifyInstance, options: WayOptions): Promise<void> {
  const { way, intake, log, tell, routes } = options;
  await app.register(async (scope) => {
    const holds = new WeakMap<FastifyRequest, Hold>();
    const holdOf = (request: FastifyRequest): Hold => {
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
      if (!(thrown instanceof ReceiveFailure) && failure.status >= 500)
        log.error("a request could not be taken", { way, error: sayError(thrown) });
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

function failureOf(thrown: unknown): ReceiveFailure {
  if (thrown instanceof ReceiveFailure) return thrown;
  if (thrown instanceof BatchTooLarge)
    return new ReceiveFailure(413, "too_large_request", thrown.message);
  if (thrown instanceof Error && "statusCode" in thrown && typeof thrown.statusCode === "number") {
    const status = thrown.statusCode;
    if (status === 415) return new ReceiveFailure(415, "unsupported_request", thrown.message);
    if (status < 500) return new ReceiveFailure(status, "malformed_request", thrown.message);
  }
  if (thrown instanceof Error && "code" in thrown && thrown.code === "ECONNRESET")
    return new ReceiveFailure(400, "malformed_request", "the body was cut off");
  return new ReceiveFailure(
    500,
    "failed_request",
    "gpulse could not take this request: its log says why",
    "retry",
  );
}
