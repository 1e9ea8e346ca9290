/** Self-metrics of the hub's agents: the number by state, and the first agents by name. */
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import { type Agent, agentStates } from "./agent.ts";

const maxNamedAgents = 1_000;

export function collectAgents(agents: readonly Agent[], put: PutMetric): void {
  const states = agents.map(({ state }) => state);
  for (const state of agentStates)
    put(self.agents, states.filter((one) => one === state).length, { state });
  agents.slice(0, maxNamedAgents).forEach(({ id, record, lagMs, clock, spool }, at) => {
    const labels = { agent: id };
    const isUp = states[at] !== "silent";
    const isReporting = isUp && states[at] !== "stopped";
    const putReported = (metric: (typeof self)[keyof typeof self], value: number | undefined) =>
      put(metric, isReporting ? value : undefined, labels);
    // An agent stopped on purpose is neither up nor down.
    put(self.agentUp, record.stopped ? undefined : Number(isUp), labels);
    put(self.agentLastSeen, record.lastSeenMs / 1_000, labels);
    putReported(self.agentLag, lagMs === undefined ? undefined : lagMs / 1_000);
    putReported(
      self.agentClockDifference,
      clock === undefined ? undefined : clock.differenceMs / 1_000,
    );
    putReported(self.agentSpoolBytes, spool?.bytes);
  });
}
