/** What the hub tells of its agents on its own page, bounded: the first so many by name, all of them by state. */
import { type MetricEntry, self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { type Agent, agentStates } from "./agent.ts";

const maxNamedAgents = 1_000;

export class AgentFrames {
  #names = "\u0000";
  #layout = new LayoutBuilder().build();

  at(agents: readonly Agent[], nowMs: number): Frame {
    const told = agents.slice(0, maxNamedAgents);
    const names = told.map(({ id }) => id).join("\u0000");
    if (names !== this.#names) {
      const builder = new LayoutBuilder();
      for (const state of agentStates) builder.add(self.agents, labelSet({ state }));
      for (const { id } of told)
        for (const metric of metrics) builder.add(metric, labelSet({ agent: id }));
      this.#layout = builder.build();
      this.#names = names;
    }
    const writer = new FrameWriter(this.#layout, nowMs);
    const states = agents.map(({ state }) => state);
    let slot = 0;
    for (const state of agentStates)
      writer.set(slot++, states.filter((one) => one === state).length);
    told.forEach((agent, at) => {
      for (const metric of metrics) {
        const value = valueOf(metric, agent, states[at] !== "silent");
        if (value === undefined) writer.absent(slot++, "unsupported");
        else writer.set(slot++, value);
      }
    });
    return writer.finish();
  }
}

const metrics: readonly MetricEntry[] = [
  self.agentUp,
  self.agentLastSeen,
  self.agentLag,
  self.agentClockDifference,
  self.agentSpoolBytes,
];

/** An agent that stopped on purpose is neither up nor down. */
function valueOf(metric: MetricEntry, agent: Agent, heard: boolean): number | undefined {
  const { record, lagMs, clock, spool } = agent;
  const seconds = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : ms / 1_000;
  if (metric === self.agentUp) return record.stopped ? undefined : Number(heard);
  if (metric === self.agentLastSeen) return record.lastSeenMs / 1_000;
  if (!heard || agent.state === "stopped") return undefined;
  if (metric === self.agentLag) return seconds(lagMs);
  if (metric === self.agentClockDifference) return seconds(clock?.differenceMs);
  return spool?.bytes;
}
