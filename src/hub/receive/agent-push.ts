/** `/api/push/v1`: frames pushed by agents. */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { formats } from "../../formats/frames/push-response.ts";
import { FramesError } from "../../formats/frames/bytes.ts";
import { contentType, VersionError } from "../../formats/frames/request.ts";
import type { Log } from "../../base/log.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import type { Agents, AgentPushResult } from "../agents/agents.ts";
import type { AdmissionHold } from "./admission.ts";
import { maxBodyBytes, unpack } from "./body.ts";
import { malformed, ReceiveError } from "./failure.ts";
import type { Intake } from "./intake.ts";
import { countAppended, type ReceiverCounts } from "./receiver-counts.ts";
import { addDirectReceiver, addReceiver } from "./receiver.ts";
import { noStore } from "../reply.ts";

const pushPath = "/api/push/v1";

export async function addAgentPush(
  app: FastifyInstance,
  agents: Agents,
  intake: Intake,
  log: Log,
): Promise<void> {
  const outcomes = addDirectReceiver(app, {
    path: pushPath,
    contentType,
    intake,
    work: (request, body, hold) => push(agents, request, body, hold),
    respond: (pushed) => {
      if (pushed.status !== 200) return undefined;
      count(intake.received, pushed);
      return { json: JSON.stringify(pushed.answer) };
    },
  });
  await addReceiver(app, {
    receiver: "push",
    isRead: (request) => outcomes.has(request),
    intake,
    log,
    sendError: (failure, _request, reply) =>
      reply.send({
        error: failure.message,
        formats: failure.status === 415 ? formats : undefined,
      }),
    routes: (scope, bodies) => {
      scope.post(pushPath, async (request, reply) => {
        const outcome = outcomes.get(request.raw);
        const pushed =
          outcome === undefined
            ? await push(agents, request.raw, bodies.packed(request), bodies.holdOf(request))
            : outcome();
        count(intake.received, pushed);
        if (pushed.status === 429) reply.header("retry-after", 1);
        if (pushed.status === 425) reply.header("retry-after", 5);
        return noStore(reply.code(pushed.status)).send(pushed.answer);
      });
    },
  });
}

async function push(
  agents: Agents,
  { headers }: IncomingMessage,
  packed: Buffer,
  hold: AdmissionHold,
): Promise<AgentPushResult> {
  const encoding = headers["content-encoding"]?.trim().toLowerCase();
  const body = encoding === undefined ? packed : await unpack(packed, encoding, maxBodyBytes, hold);
  hold.leaveLarge();
  return agents.push(body, hold.client).catch(explain);
}

function explain(thrown: unknown): never {
  if (thrown instanceof VersionError)
    throw new ReceiveError(415, "unsupported_request", thrown.message);
  if (thrown instanceof FramesError) throw malformed(`not a valid push: ${thrown.message}`);
  if (!(thrown instanceof StoreError)) throw thrown;
  throw new ReceiveError(thrown.retryable ? 503 : 500, "failed_request", thrown.message, "retry");
}

function count(received: ReceiverCounts, { status, results, tooNew }: AgentPushResult): void {
  if (status === 425) received.add("push", "held_request");
  received.add("push", "too_new", tooNew);
  for (const result of results) countAppended(received, "push", result);
}
