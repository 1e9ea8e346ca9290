/** `/api/push/v1`, where agents send their frames, and `/api/agents`, who they are. */
import type { FastifyInstance } from "fastify";
import { formats } from "../../formats/frames/push-response.ts";
import { FramesError } from "../../formats/frames/bytes.ts";
import { VersionError } from "../../formats/frames/request.ts";
import type { Log } from "../../base/log.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import { malformed, ReceiveError } from "../receive/failure.ts";
import type { Intake } from "../receive/intake.ts";
import type { ReceiverCounts } from "../receive/receiver-counts.ts";
import { maxBodyBytes } from "../receive/body.ts";
import { addReceiver } from "../receive/receiver.ts";
import { clientOf } from "../limits/client.ts";
import type { Agent } from "./agent.ts";
import type { Agents, AgentPushResult } from "./agents.ts";

const way = "push";

export async function addAgentPush(
  app: FastifyInstance,
  agents: Agents,
  intake: Intake,
  log: Log,
): Promise<void> {
  await addReceiver(app, {
    way,
    intake,
    log,
    tell: (failure, _request, reply) =>
      reply.send({
        error: failure.message,
        ...(failure.status === 415 ? { formats: [...formats] } : {}),
      }),
    routes: (scope, bodies) => {
      scope.post("/api/push/v1", async (request, reply) => {
        const body = await bodies.plain(request, maxBodyBytes);
        bodies.holdOf(request).leaveLarge();
        const pushed = await agents.push(body, clientOf(request)).catch(explain);
        count(intake.received, pushed);
        if (pushed.status === 429) reply.header("retry-after", 1);
        if (pushed.status === 425) reply.header("retry-after", 5);
        return reply.code(pushed.status).header("cache-control", "no-store").send(pushed.answer);
      });
    },
  });
}

export function addAgentList(app: FastifyInstance, agents: Agents): void {
  app.get("/api/agents", async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ agents: agents.list.map(agentJson) }),
  );

  app.delete<{ Params: { id: string } }>("/api/agents/:id", async (request, reply) => {
    const { id } = request.params;
    if (await agents.forget(id)) return reply.code(204).send();
    return reply.code(404).send({ error: `There is no agent ${JSON.stringify(id)}.` });
  });
}

export function agentJson(agent: Agent) {
  const { record, clock, lagMs, spool, gpus } = agent;
  const seconds = (ms: number): number => Math.round(ms) / 1_000;
  return {
    id: record.id,
    state: agent.state,
    host: record.host,
    job: record.job,
    instance: record.instance,
    version: record.version,
    firstSeen: new Date(record.firstSeenMs).toISOString(),
    lastSeen: new Date(record.lastSeenMs).toISOString(),
    intervalSeconds: seconds(record.intervalMs),
    sequence: record.sessions.at(-1)?.acknowledged ?? 0,
    ...(gpus === undefined ? {} : { gpus }),
    ...(lagMs === undefined ? {} : { lagSeconds: seconds(lagMs) }),
    ...(clock === undefined ? {} : { clockDifferenceSeconds: seconds(clock.differenceMs) }),
    ...(clock?.boundMs === undefined
      ? {}
      : { clockDifferenceBoundSeconds: seconds(clock.boundMs) }),
    ...(spool === undefined
      ? {}
      : { spool: { records: spool.records, bytes: spool.bytes, lostRecords: spool.lost } }),
    contested: agent.isContested,
    held: agent.isHeld,
  };
}

function explain(thrown: unknown): never {
  if (thrown instanceof VersionError)
    throw new ReceiveError(415, "unsupported_request", thrown.message);
  if (thrown instanceof FramesError) throw malformed(`not a valid push: ${thrown.message}`);
  if (!(thrown instanceof StoreError)) throw thrown;
  throw new ReceiveError(thrown.retryable ? 503 : 500, "failed_request", thrown.message, "retry");
}

function count(received: ReceiverCounts, { status, results, tooNew }: AgentPushResult): void {
  if (status === 425) received.add(way, "held_request");
  received.add(way, "too_new", tooNew);
  for (const result of results) {
    received.add(way, "stored", result.stored);
    received.add(way, "duplicate", result.duplicates);
    received.add(way, "conflict", result.refusedConflicts);
    received.add(way, "too_old", result.refusedTooOld);
    received.add(way, "limit", result.refusedByLimit);
  }
}
