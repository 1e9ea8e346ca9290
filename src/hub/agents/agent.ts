/** One agent in the hub's registry: identity, state and acknowledged frames. Wall-clock time comes in as an argument. */
import type { Hello } from "../../formats/frames/hello.ts";
import { deviceKey } from "../../model/device.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { ClientKey } from "../../base/fair/client-key.ts";
import type { AgentDefinitions } from "./definitions.ts";
import { type AgentStage, stageOf } from "./places.ts";
import type { AgentRecord } from "./record.ts";

/** late: its newest frame was old on arrival; silent: no requests; stopped: it announced its shutdown. */
export const agentStates = ["ok", "late", "silent", "stopped"] as const;
export type AgentState = (typeof agentStates)[number];

/** An agent is silent after this many intervals without a request, and never before the minimum. */
const silentIntervals = 3;
const leastSilenceMs = 10_000;
const maxAgentSessions = 4;
/** A session that returns this soon after another replaced it belongs to a second agent of the same name. */
const contestedForMs = 60_000;

/** The last delivery of one source and schedule. */
export interface SourceFlow {
  readonly source: string;
  readonly delivery: Delivery;
}

/** For agents stored by an older hub. */
const unknownClient: ClientKey = { principal: "unknown", address: "unknown" };

export class Agent {
  /** Changed in place with every push; copy it to store it. */
  readonly record: AgentRecord;
  /** True while the agent holds back frames because its clock differs from the hub's. */
  isHeld = false;
  /** True once the agent has sent a request since this hub started. */
  hasReported = false;
  lagMs: number | undefined;
  clock: { readonly differenceMs: number; readonly boundMs: number | undefined } | undefined;
  spool: Hello["spool"] | undefined;
  gpus: number | undefined;
  readonly flows = new Map<string, SourceFlow>();
  /** Definitions under the identity of the agent's last request. */
  definitions: AgentDefinitions | undefined;
  /** The last state that was logged and written as `up`. */
  reportedState: AgentState = "ok";
  changed = true;
  /** Requests of one agent are handled one at a time. */
  queue: Promise<unknown> = Promise.resolve();
  waiting = 0;
  readonly #monotonicMs: () => number;
  /** Time of the last request. For an agent loaded from disk, the start of the hub, so that it is not silent at once. */
  #lastRequestMs: number;
  #contestedUntilMs = Number.NEGATIVE_INFINITY;
  #sessionSinceMs: number;
  /** Devices and host of each source at the last count of `gpus`. */
  readonly #countedDevices: unknown[] = [];

  /** Silence is measured with the monotonic clock: setting the wall clock makes no agent silent. */
  constructor(record: AgentRecord, monotonicMs: () => number) {
    this.record = record;
    this.#monotonicMs = monotonicMs;
    this.#lastRequestMs = monotonicMs();
    this.#sessionSinceMs = this.#lastRequestMs;
    this.reportedState = record.stopped ? "stopped" : "ok";
  }

  get client(): ClientKey {
    return this.record.client ?? unknownClient;
  }

  get stage(): AgentStage {
    return stageOf(this.record);
  }

  /** Records that samples of the agent were stored. */
  reported(nowMs: number): void {
    this.record.reportedMs = nowMs;
    this.changed = true;
  }

  get id(): string {
    return this.record.id;
  }

  silentAfterMs(): number {
    return Math.max(leastSilenceMs, silentIntervals * this.record.intervalMs);
  }

  /** Milliseconds since the last request, or since the hub's start. */
  get idleMs(): number {
    return this.#monotonicMs() - this.#lastRequestMs;
  }

  get state(): AgentState {
    if (this.record.stopped) return "stopped";
    if (this.idleMs > this.silentAfterMs()) return "silent";
    return (this.lagMs ?? 0) > this.silentAfterMs() ? "late" : "ok";
  }

  /** True while two agents push under this name. */
  get isContested(): boolean {
    return this.#monotonicMs() < this.#contestedUntilMs;
  }

  update(hello: Hello, nowMs: number): void {
    const { record } = this;
    const { sessions } = record;
    const monotonicMs = this.#monotonicMs();
    if (sessions.at(-1)?.id !== hello.session) {
      const before = sessions.find(({ id }) => id === hello.session);
      if (before !== undefined && monotonicMs - this.#sessionSinceMs < contestedForMs)
        this.#contestedUntilMs = monotonicMs + contestedForMs;
      this.#sessionSinceMs = monotonicMs;
      record.sessions = [
        ...sessions.filter((session) => session !== before),
        before ?? { id: hello.session, acknowledged: 0 },
      ].slice(-maxAgentSessions);
    }
    record.host = hello.host;
    record.job = hello.job;
    record.instance = hello.instance;
    record.version = hello.version;
    record.lastSeenMs = nowMs;
    record.intervalMs = hello.intervalMs;
    record.stopped = false;
    this.#lastRequestMs = monotonicMs;
    this.hasReported = true;
    this.spool = hello.spool;
    // Half the round trip is the best estimate of the latency.
    const wayMs = (hello.roundTripMs ?? 0) / 2;
    this.clock = {
      differenceMs: nowMs - hello.sentMs - wayMs,
      boundMs: hello.roundTripMs === undefined ? undefined : wayMs,
    };
    this.changed = true;
  }

  /** Counts the GPUs of all sources, without MIG instances and other parts of a GPU. */
  countGpus(): void {
    if (!this.#isDevicesChanged()) return;
    const gpus = new Set<string>();
    for (const { delivery } of this.flows.values())
      for (const { uuid, parent } of delivery.devices)
        if (parent === undefined) gpus.add(deviceKey(delivery.host ?? this.record.host, uuid));
    if (this.flows.size > 0) this.gpus = gpus.size;
  }

  /** True if the devices of any source differ from those counted last. */
  #isDevicesChanged(): boolean {
    const counted = this.#countedDevices;
    let at = 0;
    let isChanged = false;
    for (const { delivery } of this.flows.values()) {
      const host = delivery.host ?? this.record.host;
      if (counted[at] !== delivery.devices || counted[at + 1] !== host) isChanged = true;
      counted[at++] = delivery.devices;
      counted[at++] = host;
    }
    if (counted.length !== at) isChanged = true;
    counted.length = at;
    return isChanged;
  }

  acknowledged(session: string): number {
    return this.#session(session)?.acknowledged ?? 0;
  }

  acknowledge(session: string, sequence: number): void {
    const found = this.#session(session);
    if (found !== undefined && found.acknowledged < sequence) found.acknowledged = sequence;
    this.changed = true;
  }

  stop(): void {
    this.record.stopped = true;
    this.changed = true;
  }

  #session(id: string): AgentRecord["sessions"][number] | undefined {
    for (const session of this.record.sessions) if (session.id === id) return session;
    return undefined;
  }
}

export function newRecord(hello: Hello, client: ClientKey, nowMs: number): AgentRecord {
  return {
    client,
    id: hello.agent,
    host: hello.host,
    job: hello.job,
    instance: hello.instance,
    version: hello.version,
    firstSeenMs: nowMs,
    lastSeenMs: nowMs,
    intervalMs: hello.intervalMs,
    stopped: false,
    sessions: [],
  };
}
