/**
 * The server side of a receiver: bodies of every content type are read within limits and passed on as bytes; errors are counted
 * and sent in the receiver's own protocol.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { formatError } from "../../base/error.ts";
import { BatchTooLargeError } from "../../formats/samples/labels.ts";
import type { Log } from "../../base/log.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { clientOf } from "../limits/client.ts";
import type { DirectResponse } from "../direct-routes.ts";
import type { AdmissionHold } from "./admission.ts";
import { readBody, unpack } from "./body.ts";
import { ReceiveError } from "./failure.ts";
import type { Intake } from "./intake.ts";
import type { ReceiverName } from "./receiver-counts.ts";

export interface ReceiverOptions {
  readonly receiver: ReceiverName;
  readonly intake: Intake;
  readonly log: Log;
  /** True if a direct route has read the body already. */
  readonly isRead?: (request: IncomingMessage) => boolean;
  /** Sends an error in the receiver's protocol; status and Retry-After are set. */
  readonly sendError: (
    failure: ReceiveError,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => FastifyReply;
  readonly routes: (app: FastifyInstance, bodies: RequestBodies) => void;
}

export interface RequestBodies {
  /** The request's reservations in the admission limits. */
  holdOf(request: FastifyRequest): AdmissionHold;
  /** The body as received. */
  packed(request: FastifyRequest): Buffer;
  /** The body after gzip or deflate decompression. */
  plain(request: FastifyRequest, maxBytes: number): Promise<Buffer>;
}

export async function addReceiver(app: FastifyInstance, options: ReceiverOptions): Promise<void> {
  const { receiver, intake, log, isRead, sendError, routes } = options;
  await app.register(async (scope) => {
    const holds = new WeakMap<FastifyRequest, AdmissionHold>();
    const holdOf = (request: FastifyRequest): AdmissionHold => {
      const hold = holds.get(request);
      if (hold === undefined) throw new Error("BUG: a request without an admission hold");
      return hold;
    };
    scope.addHook("onRequest", (request, reply, done) => {
      const hold = intake.admission.hold(clientOf(request), request.raw.socket);
      holds.set(request, hold);
      // `close` fires after a response and after the client disconnects.
      reply.raw.once("close", () => hold.release());
      done();
    });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) => {
      if (isRead?.(payload) === true) return Buffer.alloc(0);
      return receiveBody(payload, holdOf(request));
    });
    scope.setErrorHandler(async (thrown, request, reply) => {
      const failure = failureOf(thrown);
      intake.received.add(receiver, failure.outcome);
      if (!(thrown instanceof ReceiveError) && failure.status >= 500)
        log.error("ingestion failed", { receiver, error: formatError(thrown) });
      reply.code(failure.status).header("cache-control", "no-store");
      if (failure.retryAfterSeconds !== undefined)
        reply.header("retry-after", failure.retryAfterSeconds);
      // The rest of the body is not read, so the connection is closed after the response.
      if (!request.raw.complete) reply.header("connection", "close");
      return sendError(failure, request, reply);
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

export interface DirectReceiverOptions<Outcome> {
  readonly path: string;
  readonly contentType: string;
  readonly intake: Intake;
  readonly work: (request: IncomingMessage, body: Buffer, hold: AdmissionHold) => Promise<Outcome>;
  /** Returns undefined if Fastify has to answer, for example because samples were rejected. */
  readonly respond: (outcome: Outcome) => DirectResponse | undefined;
}

/**
 * Handles regular requests of a receiver without Fastify, which took a third of the processor time of an agent's push. Returns,
 * by request, the outcome of those that Fastify has to answer: a refusal, or an error.
 */
export function addDirectReceiver<Outcome>(
  app: FastifyInstance,
  { path, contentType, intake, work, respond }: DirectReceiverOptions<Outcome>,
): WeakMap<IncomingMessage, () => Outcome> {
  const outcomes = new WeakMap<IncomingMessage, () => Outcome>();
  app.direct?.post(path, contentType, async (request, response, client) => {
    const hold = intake.admission.hold(client, request.socket);
    response.once("close", () => hold.release());
    try {
      const body = await receiveBody(request, hold);
      const outcome = await work(request, body, hold);
      const sent = respond(outcome);
      if (sent !== undefined) return sent;
      outcomes.set(request, () => outcome);
    } catch (thrown) {
      outcomes.set(request, () => {
        throw thrown;
      });
    }
    hold.release();
    return undefined;
  });
  return outcomes;
}

const bytesOf = ({ body }: FastifyRequest): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.alloc(0);

/** Resolves with the unchanged body when it is the client's turn. */
async function receiveBody(request: IncomingMessage, hold: AdmissionHold): Promise<Buffer> {
  const declared = request.headers["content-length"];
  const body = await readBody(request, declared === undefined ? undefined : Number(declared), hold);
  await loopTurns.turn("ingest", hold.client);
  return body;
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
    "gpulse failed to store this request: see its log",
    "retry",
  );
}
