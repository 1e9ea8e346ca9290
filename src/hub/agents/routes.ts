/** `/api/agents`: the agents of this hub, listed and removed. */
import type { FastifyInstance } from "fastify";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { noStore } from "../reply.ts";

export function addAgentList(app: FastifyInstance, agents: Agents): void {
  app.get("/api/agents", async (_request, reply) =>
    noStore(reply).send({ agents: agents.list.map(agentJson) }),
  );

  app.delete<{ Params: { id: string } }>("/api/agents/:id", async (request, reply) => {
    const { id } = request.params;
    if (await agents.forget(id)) return reply.code(204).send();
    return reply.code(404).send({ error: `There is no agent ${JSON.stringify(id)}.` });
  });
}

function agentJson(agent: Agent) {
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
