import { expect, test } from "vitest";
import { anonymousClient, type ClientKey } from "../../base/fair/client-key.ts";
import { Agent } from "./agent.ts";
import { AgentPlaces, retentionOf } from "./places.ts";

const startMs = 1_790_000_000_000;
const day = 86_400_000;

function agentOf(id: string, client: ClientKey, reportedMs?: number): Agent {
  const record = {
    id,
    host: id,
    job: "gpulse",
    instance: id,
    version: "1",
    firstSeenMs: startMs,
    lastSeenMs: startMs,
    intervalMs: 1_000,
    stopped: false,
    sessions: [],
    client,
    ...(reportedMs === undefined ? {} : { reportedMs }),
  };
  return new Agent(record, () => startMs);
}

const flood = { principal: "token flood", address: "10.0.0.1" };
const innocent = anonymousClient("10.0.0.2");

test("agents that have sent nothing push one another out, and never one of a quieter client", () => {
  const places = new AgentPlaces({ unproven: 4 });
  const first = agentOf("real", innocent);
  expect(places.admit(first)).toBeUndefined();
  const evicted = Array.from({ length: 50 }, (_, at) =>
    places.admit(agentOf(`ghost-${at}`, flood)),
  ).filter((one) => one !== undefined);
  expect(evicted).toHaveLength(47);
  expect(evicted.map(({ id }) => id)).not.toContain("real");
  expect(places.mayReport(first)).toBe(true);
});

test("one client that reports under many names leaves places for another", () => {
  const places = new AgentPlaces({ agents: 8 });
  const held = Array.from({ length: 8 }, (_, at) => agentOf(`g${at}`, flood, startMs)).filter(
    (agent) => {
      if (!places.mayReport(agent)) return false;
      places.reported(agent);
      return true;
    },
  );
  expect(held.length).toBeLessThanOrEqual(4);
  expect(places.mayReport(agentOf("real", innocent, startMs))).toBe(true);
});

test("established agents count against no client, so a fleet on one token can grow", () => {
  const places = new AgentPlaces({ agents: 20 });
  const fleet = { principal: "token fleet", address: "10.0.0.1" };
  for (let at = 0; at < 12; at++)
    places.restore(agentOf(`node-${at}`, fleet, startMs + 11 * 60_000));
  expect(places.mayReport(agentOf("node-12", fleet, startMs))).toBe(true);
});

test.for<["unproven" | "provisional" | "established", number | undefined, number]>([
  ["unproven", undefined, 2 * 60_000],
  ["provisional", startMs + 60_000, day],
  ["established", startMs + 600_000, 30 * day],
])("an %s agent keeps its place for a time of its own", ([stage, reportedMs, ms]) => {
  expect(agentOf("a", flood, reportedMs).stage).toBe(stage);
  expect(retentionOf(stage, 30 * day)).toBe(ms);
});
