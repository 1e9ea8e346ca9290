/**
 * Slots in the registry of agents, by stage. An agent that has sent no sample yet is unproven: there are few such slots, a new
 * agent takes the oldest slot of the client with the most, and they expire within minutes. An agent that reports gets a
 * provisional slot within its client's fair share. After reporting for a while it is established and keeps its slot for the
 * retention.
 */
import type { ClientKey } from "../../base/fair/client-key.ts";
import { FairShare } from "../../base/fair/fair-share.ts";
import type { Agent } from "./agent.ts";
import type { AgentRecord } from "./record.ts";

export type AgentStage = "unproven" | "provisional" | "established";

export interface PlaceLimits {
  readonly agents: number;
  readonly unproven: number;
}

const defaultLimits: PlaceLimits = { agents: 10_000, unproven: 256 };
/** An agent is established after reporting for this long. */
const establishedAfterMs = 10 * 60_000;
const unprovenKeptMs = 2 * 60_000;
const provisionalKeptMs = 24 * 3_600_000;
/** Established agents count against no client. */
const established: ClientKey = { principal: "established", address: "established" };

export function stageOf({
  firstSeenMs,
  lastSeenMs,
  reportedMs,
  sessions,
}: AgentRecord): AgentStage {
  const isAcknowledged = sessions.some(({ acknowledged }) => acknowledged > 0);
  const lastReportMs = reportedMs ?? (isAcknowledged ? lastSeenMs : undefined);
  if (lastReportMs === undefined) return "unproven";
  return lastReportMs - firstSeenMs >= establishedAfterMs ? "established" : "provisional";
}

export class AgentPlaces {
  readonly #places: FairShare;
  readonly #unproven: FairShare;
  /** In order of arrival. */
  readonly #unprovenAgents = new Set<Agent>();
  readonly #held = new Map<Agent, ClientKey>();

  constructor(limits: Partial<PlaceLimits> = {}) {
    const { agents, unproven } = { ...defaultLimits, ...limits };
    this.#places = new FairShare(agents);
    this.#unproven = new FairShare(unproven);
  }

  /** Restores an agent known before the restart. */
  restore(agent: Agent): void {
    if (agent.stage === "unproven") this.#addUnproven(agent);
    else this.#hold(agent);
  }

  /** Assigns a slot to an agent that has sent nothing yet; returns the agent evicted for it. */
  admit(agent: Agent): Agent | undefined {
    const oldest = this.#unproven.free > 0 ? undefined : this.#oldestUnproven(agent.client);
    if (oldest !== undefined) this.remove(oldest);
    this.#addUnproven(agent);
    return oldest;
  }

  /** True if an agent about to report may have a slot. */
  mayReport(agent: Agent): boolean {
    return this.#held.has(agent) || this.#places.allows(agent.client);
  }

  /** Call after storing samples of the agent. */
  reported(agent: Agent): void {
    const holder = agent.stage === "established" ? established : agent.client;
    if (this.#held.get(agent)?.principal === holder.principal) return;
    this.remove(agent);
    this.#hold(agent);
  }

  remove(agent: Agent): void {
    if (this.#unprovenAgents.delete(agent)) this.#unproven.give(agent.client);
    const holder = this.#held.get(agent);
    if (holder === undefined) return;
    this.#held.delete(agent);
    this.#places.give(holder);
  }

  #addUnproven(agent: Agent): void {
    this.#unprovenAgents.add(agent);
    this.#unproven.take(agent.client);
  }

  #hold(agent: Agent): void {
    const holder = agent.stage === "established" ? established : agent.client;
    this.#places.take(holder);
    this.#held.set(agent, holder);
  }

  #oldestUnproven(newcomer: ClientKey): Agent | undefined {
    const { principal } = this.#unproven.greediest(newcomer) ?? newcomer;
    const all = [...this.#unprovenAgents];
    return all.find(({ client }) => client.principal === principal) ?? all[0];
  }
}

/** How long a silent or stopped agent keeps its slot. */
export function retentionOf(stage: AgentStage, retentionMs: number): number {
  if (stage === "established") return retentionMs;
  return Math.min(retentionMs, stage === "provisional" ? provisionalKeptMs : unprovenKeptMs);
}
