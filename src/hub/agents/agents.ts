/**
 * The agents that push to this hub: handles their requests in order, acknowledges only stored frames, persists agents across
 * restarts, and reports those that stop. No agent is removed before its retention ends.
 */
import { formatDuration } from "../../config/duration.ts";
import {
  capabilities,
  clockCapability,
  formats,
  type HubClock,
  isAccepted,
  type PushResponse,
} from "../../formats/frames/push-response.ts";
import type { PushFrame } from "../../formats/frames/frame.ts";
import type { Hello } from "../../formats/frames/hello.ts";
import { type PushRequest, readRequest } from "../../formats/frames/request.ts";
import type { SampleWriter } from "../../storage/history.ts";
import { formatError } from "../../base/error.ts";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import { limitDebug, type Log, type LogFields } from "../../base/log.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import { Agent, type AgentState, newRecord } from "./agent.ts";
import { type AgentDefinitions, Definitions } from "./definitions.ts";
import { endFlows, ingestFrame } from "./flow.ts";
import { collectAgents } from "./self-metrics.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import { AgentPlaces, retentionOf, stageOf } from "./places.ts";
import type { AgentRecord } from "./record.ts";
import { upBatch, type UpValue } from "./up.ts";

/** Persists agent records across restarts of the hub; state/state-map.ts is one implementation. */
export interface AgentStore {
  values(): Iterable<AgentRecord>;
  put(id: string, record: AgentRecord): void;
  delete(id: string): boolean;
  close(): void;
}

export interface AgentsOptions {
  readonly writer: SampleWriter;
  readonly show: (delivery: Delivery) => void;
  readonly log: Log;
  readonly nowMs: () => number;
  /** A clock that follows no jump of the wall clock; retention is measured with it. */
  readonly trustedNowMs: () => number;
  /** Clock for the detection of silent agents; the process's monotonic clock if absent. */
  readonly monotonicMs?: () => number;
  readonly version: string;
  /** How long a silent or stopped agent stays in the registry. */
  readonly retentionMs: number;
  /** The history accepts no samples older than this. */
  readonly oldestSampleMs: () => number;
  readonly store?: AgentStore;
  /** No timer: the caller calls `watch` (tests). */
  readonly manual?: boolean;
}

/** The response to a valid request. */
export interface AgentPushResult {
  readonly status: 200 | 409 | 425 | 428 | 429;
  readonly answer: PushResponse;
  /** Append results of the samples; empty if there were none. */
  readonly results: readonly AppendResult[];
  /** Samples rejected permanently because their timestamps are in the future. */
  readonly tooNew: number;
}

const allFormats = [...formats];
const allCapabilities = [...capabilities];
const maxWaiting = 4;
/** The same limit as for every receiver. */
const maxAheadMs = 10 * 60_000;
/** `up` is written as often as a typical scrape, well within a query's look-back. */
const upEveryMs = 15_000;
const watchEveryMs = 1_000;

export class Agents {
  readonly #options: AgentsOptions;
  readonly #agents = new Map<string, Agent>();
  readonly #definitions = new Definitions();
  readonly #places = new AgentPlaces();
  readonly #fewLines = new LogThrottle();
  readonly #monotonicMs: () => number;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout | undefined;
  #upMs = Number.NEGATIVE_INFINITY;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#log = limitDebug(options.log, () => performance.now());
    for (const record of options.store?.values() ?? [])
      this.#restore(new Agent(record, this.#monotonicMs));
    if (options.manual !== true)
      this.#timer = setInterval(() => void this.watch(), watchEveryMs).unref();
  }

  get list(): readonly Agent[] {
    return [...this.#agents.values()];
  }

  /** @throws FramesError if the body is malformed, StoreError if nothing can be stored now. */
  async push(body: Uint8Array, client: ClientKey): Promise<AgentPushResult> {
    const nowMs = this.#options.nowMs();
    let definitions: AgentDefinitions | undefined;
    let agent: Agent | undefined;
    const request = readRequest(body, (hello) => {
      agent =
        this.#agents.get(hello.agent) ??
        new Agent(newRecord(hello, client, nowMs), this.#monotonicMs);
      // A request in progress keeps its own definitions.
      if (agent.waiting > 0 || agent.definitions?.isOf(hello) !== true)
        agent.definitions = this.#definitions.of({
          id: hello.agent,
          job: hello.job,
          instance: hello.instance,
        });
      definitions = agent.definitions;
      return definitions;
    });
    if (agent === undefined || definitions === undefined)
      throw new Error("BUG: a request was read without its hello");
    this.#meet(agent);
    if (agent.waiting >= maxWaiting)
      return refused("this agent has too many requests in progress: send one at a time");
    const startMs = performance.now();
    const result = await this.#inTurn(agent, request, definitions, nowMs, client.principal);
    if (this.#log.isDebug === true)
      this.#log.debug("push received", {
        agent: agent.record.id,
        status: result.status,
        frames: request.heads.length,
        samples: result.results.reduce(
          (sum, { stored, duplicates }) => sum + stored + duplicates,
          0,
        ),
        bytes: body.length,
        tookMs: Math.round((performance.now() - startMs) * 100) / 100,
      });
    return result;
  }

  /** Current problems with agents, one sentence each. */
  problems(): readonly string[] {
    const nowMs = this.#options.nowMs();
    const problems: string[] = [];
    for (const agent of this.#agents.values()) {
      const { id, lastSeenMs } = agent.record;
      const { state } = agent;
      if (state === "silent") problems.push(`agent ${id}: silent for ${ago(nowMs - lastSeenMs)}`);
      if (state === "late") problems.push(`agent ${id}: ${ago(agent.lagMs ?? 0)} behind`);
      if (agent.isContested)
        problems.push(
          `agent ${id}: two agents push under this name: give one of them another --host-name or --instance`,
        );
      const difference = describeClock(agent);
      if (agent.isHeld && difference !== undefined)
        problems.push(
          `agent ${id}: its clock is ${difference} of this hub's, so the agent holds its frames: fix the wrong clock`,
        );
    }
    return problems.length <= 20
      ? problems
      : [...problems.slice(0, 20), `and ${problems.length - 20} more agents`];
  }

  readonly selfMetrics: CollectMetrics = (put) => collectAgents(this.list, put);

  /** Checks all agents: silence, `up`, saving, expiry. Runs one at a time. */
  watch(): Promise<void> {
    const look = (): Promise<void> =>
      this.#look().catch((thrown: unknown) =>
        this.#options.log.warn("agent check failed", {
          error: formatError(thrown),
        }),
      );
    this.#watching = this.#watching.then(look);
    return this.#watching;
  }

  /** Removes an agent; if it still pushes it is registered as a new one. */
  async forget(id: string): Promise<boolean> {
    const agent = this.#agents.get(id);
    if (agent === undefined) return false;
    this.#agents.delete(id);
    this.#places.remove(agent);
    this.#definitions.forget(id);
    this.#options.store?.delete(id);
    await endFlows(agent, this.#options);
    await this.#writeUp([[agent.record, "stale"]]);
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#watching;
    this.#save();
    this.#options.store?.close();
  }

  #restore(agent: Agent): void {
    this.#agents.set(agent.id, agent);
    this.#places.restore(agent);
  }

  /** Registers an agent only after its whole request was parsed. */
  #meet(agent: Agent): void {
    const { id, record } = agent;
    if (this.#agents.has(id)) return;
    const evicted = this.#places.admit(agent);
    if (evicted !== undefined) void this.forget(evicted.id);
    this.#agents.set(id, agent);
    this.#logFew("info", "new agent", { agent: id, version: record.version });
  }

  #inTurn(
    agent: Agent,
    request: PushRequest,
    definitions: AgentDefinitions,
    nowMs: number,
    client: string | undefined,
  ): Promise<AgentPushResult> {
    agent.waiting++;
    const turn = agent.queue.then(() => this.#take(agent, request, definitions, nowMs, client));
    const leave = (): void => {
      agent.waiting--;
      definitions.releaseLast();
    };
    agent.queue = turn.then(leave, leave);
    return turn;
  }

  async #take(
    agent: Agent,
    { hello, heads, frames, goodbye, unknownKinds }: PushRequest,
    definitions: AgentDefinitions,
    nowMs: number,
    client: string | undefined,
  ): Promise<AgentPushResult> {
    const wasUp = agent.hasReported && agent.reportedState !== "silent" && !agent.record.stopped;
    agent.update(hello, nowMs);
    if (!wasUp) await this.#writeUp([[agent.record, 1]]);
    const clock = this.#clock(nowMs);
    const results: AppendResult[] = [];
    let tooNew = 0;
    const answer = (status: 200 | 409 | 425): AgentPushResult => ({
      status,
      answer: {
        acknowledged: agent.acknowledged(hello.session),
        clock,
        version: this.#options.version,
        formats: allFormats,
        capabilities: allCapabilities,
        ...(unknownKinds.length === 0 ? undefined : { unknownKinds: [...unknownKinds] }),
      },
      results,
      tooNew,
    });
    const from = agent.acknowledged(hello.session);
    if (heads.length > 0 && heads.every(({ sequence }) => sequence <= from)) return answer(409);
    const needs = definitions.needs(heads);
    if (needs !== undefined) {
      const { layouts, devices, metrics } = needs;
      return {
        ...answer(200),
        status: 428,
        answer: { needs: { layouts: [...layouts], devices: [...devices], metrics: [...metrics] } },
      };
    }
    if (frames.length > 0 && !this.#places.mayReport(agent))
      return refused(
        "too many agents of this token or address, or on this hub: remove agents that no longer report, or retry tomorrow",
      );
    const isFirst = agent.stage === "unproven";
    let [isHeld, lagMs] = [false, agent.lagMs];
    for (const wire of frames) {
      if (wire.sequence <= from) continue;
      const layout = definitions.layout(wire.layout);
      const devices = definitions.devices(wire.devices);
      if (layout === undefined || devices === undefined) break;
      isHeld = !isAccepted(clock, wire.timeMs) && canHold(hello, wire, clock);
      if (isHeld) break;
      if (wire.timeMs > clock.newestMs) tooNew += wire.values.length;
      else {
        results.push(await ingestFrame(agent, wire, layout, devices, this.#options, client));
        lagMs = Math.max(0, nowMs - wire.timeMs - (agent.clock?.differenceMs ?? 0));
      }
      agent.acknowledge(hello.session, wire.sequence);
    }
    if (results.some(({ stored }) => stored > 0)) {
      agent.reported(nowMs);
      if (isFirst) await this.#writeUp([[agent.record, 1]]);
      this.#places.reported(agent);
    }
    agent.countGpus();
    // Frames from before a clock was set say nothing about the current clock difference.
    if (!isHeld) agent.lagMs = lagMs;
    if (goodbye) await this.#stop(agent);
    this.#reportState(agent, agent.state);
    if (frames.length > 0) this.#hold(agent, isHeld);
    if (isHeld) {
      const held = answer(425);
      return { ...held, answer: { ...held.answer, error: describeHold(agent) } };
    }
    const taken = answer(200);
    return tooNew === 0 ? taken : { ...taken, answer: { ...taken.answer, tooNew } };
  }

  #clock(nowMs: number): HubClock {
    const oldestMs = this.#options.oldestSampleMs();
    return { nowMs, oldestMs, newestMs: nowMs + maxAheadMs };
  }

  /** Logs once per period in which the clocks disagree. */
  #hold(agent: Agent, isHeld: boolean): void {
    const wasHeld = agent.isHeld;
    agent.isHeld = isHeld;
    const clock = describeClock(agent);
    if (!isHeld || wasHeld || clock === undefined) return;
    this.#logFew("warn", "agent clock differs: the agent holds its frames until the clocks agree", {
      agent: agent.id,
      host: agent.record.host,
      clock,
    });
  }

  async #stop(agent: Agent): Promise<void> {
    agent.stop();
    await endFlows(agent, this.#options);
    await this.#writeUp([[agent.record, "stale"]]);
  }

  async #look(): Promise<void> {
    const trustedMs = this.#options.trustedNowMs();
    for (const agent of this.#agents.values()) {
      const { state } = agent;
      // Retry series that have not ended: the history may have been unavailable.
      if (state === "silent" && (agent.reportedState !== "silent" || agent.flows.size > 0)) {
        this.#reportState(agent, state);
        // Runs in order after pending requests: one of them may prove that the agent is alive.
        const ended = agent.queue.then(() => this.#endSilent(agent));
        agent.queue = ended.catch(() => undefined);
        await ended;
      }
      const gone = state === "silent" || state === "stopped";
      const longestMs = retentionOf(agent.stage, this.#options.retentionMs);
      // The trusted clock may be behind after a start; the idle time since then is reliable.
      const goneMs = Math.max(agent.idleMs, trustedMs - agent.record.lastSeenMs);
      if (gone && goneMs > longestMs) await this.forget(agent.id);
    }
    const monotonicMs = this.#monotonicMs();
    if (monotonicMs - this.#upMs < upEveryMs) return;
    this.#upMs = monotonicMs;
    this.#save();
    await this.#writeUp(
      this.list
        .filter(
          ({ record, hasReported: heard, reportedState: problems }) =>
            !record.stopped && (heard || problems === "silent"),
        )
        .map((agent) => [agent.record, agent.reportedState === "silent" ? 0 : 1] as const),
    );
  }

  async #endSilent(agent: Agent): Promise<void> {
    if (agent.reportedState !== "silent") return;
    await endFlows(agent, this.#options);
    await this.#writeUp([[agent.record, 0]]);
  }

  /** Logs and records each state change once. */
  #reportState(agent: Agent, state: AgentState): void {
    const { log, nowMs } = this.#options;
    const before = agent.reportedState;
    if (before === state) return;
    agent.reportedState = state;
    agent.changed = true;
    const fields = { agent: agent.id, host: agent.record.host };
    if (state === "silent")
      this.#logFew("warn", "agent is silent: its series end here", {
        ...fields,
        lastSeen: ago(nowMs() - agent.record.lastSeenMs),
      });
    else if (state === "stopped") log.info("agent stopped", fields);
    else if (state === "late")
      log.warn("agent frames are late", { ...fields, behind: ago(agent.lagMs ?? 0) });
    else log.info(before === "late" ? "agent has caught up" : "agent is back", fields);
  }

  /** Logs a few lines of each kind per minute: a network failure makes thousands of agents disappear and return at once. */
  #logFew(level: "info" | "warn", message: string, fields: LogFields): void {
    const line = this.#fewLines.take(message, this.#options.nowMs());
    if (line !== undefined) this.#options.log[level](message, { ...fields, ...line });
  }

  async #writeUp(values: readonly (readonly [AgentRecord, UpValue])[]): Promise<void> {
    // An agent that has sent no samples yet gets no `up` series.
    const proven = values.filter(([record]) => stageOf(record) !== "unproven");
    if (proven.length === 0) return;
    try {
      await this.#options.writer.write(upBatch(proven, this.#options.nowMs()));
    } catch (thrown) {
      this.#options.log.warn("writing up of agents failed", { error: formatError(thrown) });
    }
  }

  #save(): void {
    const { store, log } = this.#options;
    if (store === undefined) return;
    for (const agent of this.#agents.values()) {
      if (!agent.changed || agent.stage === "unproven") continue;
      agent.changed = false;
      try {
        store.put(agent.id, structuredClone(agent.record));
      } catch (thrown) {
        log.warn("saving agents failed", {
          error: formatError(thrown),
        });
        return;
      }
    }
  }
}

const refused = (error: string): AgentPushResult => ({
  status: 429,
  answer: { error },
  results: [],
  tooNew: 0,
});

/**
 * Agents without the clock capability can only be asked to retry (425). To end the retries, this applies only while their own
 * clock is ahead too.
 */
const canHold = (hello: Hello, wire: PushFrame, clock: HubClock): boolean =>
  hello.capabilities.includes(clockCapability) ||
  (wire.timeMs > clock.newestMs && hello.sentMs > clock.newestMs);

/** `8d ahead`, `1h behind`; undefined if the difference is too small to reject frames. */
function describeClock({ clock }: Agent): string | undefined {
  const aheadMs = -(clock?.differenceMs ?? 0);
  if (Math.abs(aheadMs) <= maxAheadMs) return undefined;
  // Rounded to minutes: agents from before clock/1 log each new wording.
  const roundedMs = Math.round(Math.abs(aheadMs) / 60_000) * 60_000;
  return `${ago(roundedMs)} ${aheadMs > 0 ? "ahead" : "behind"}`;
}

function describeHold(agent: Agent): string {
  const difference = describeClock(agent);
  return difference === undefined
    ? "the time of a frame is outside what this hub accepts"
    : `this machine's clock is ${difference} of the hub's: frames are held until the clocks agree; fix the wrong clock`;
}

const ago = (ms: number): string => formatDuration(Math.max(1_000, Math.round(ms / 1_000) * 1_000));
