/** The timeline of a running hub: its event store, the event producers, and the actions on incoming alerts. */
import type { AlertActionSettings } from "../../cli/command/on-alert.ts";
import { EventStore } from "./store.ts";
import { DeviceChangeWatch } from "./device-watch.ts";
import type { TimelineEvent } from "./event.ts";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type KernelLine, kernelLineEvent } from "../../sinks/kernel-log/line.ts";
import type { Agent, AgentState } from "../agents/agent.ts";
import type { AlertSink } from "../alerts/sink.ts";
import { AlertActions } from "./actions.ts";
import { deliveryEvent, findOngoingAlerts, withTimeline } from "./alert-events.ts";
import type { EventRoutesContext } from "./routes.ts";

export interface TimelineOptions {
  readonly dataDir: string;
  readonly retentionMs: number;
  readonly hostName: string;
  readonly onAlert: readonly AlertActionSettings[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nowMs: () => number;
  /** A clock that follows no jump of the wall clock; events expire by it. */
  readonly trustedNowMs: () => number;
  readonly log: Log;
}

const lookEveryMs = 2_000;
const deliveriesLookedAt = 100;
/** Per hour: a driver that logs in a loop must not evict alerts from the timeline. */
const mostKernelLines = 1_000;

export class Timeline implements EventRoutesContext {
  readonly store: EventStore;
  readonly actions: AlertActions;
  readonly nowMs: () => number;
  readonly #devices: DeviceChangeWatch;
  readonly #log: Log;
  readonly #states = new Map<string, AgentState>();
  readonly #ends: (() => void)[] = [];
  #recordedMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #kernelLines = { hour: 0, count: 0 };

  constructor(options: TimelineOptions) {
    const { nowMs, log, dataDir } = options;
    this.nowMs = nowMs;
    this.#log = log;
    this.store = new EventStore(options);
    this.actions = new AlertActions({ ...options, events: this.store });
    this.#devices = new DeviceChangeWatch({
      dataDir,
      log,
      hostName: options.hostName,
      events: this.store,
    });
  }

  /** Records device changes from every frame. */
  watchFrames(frames: { subscribe(listener: (delivery: Delivery) => void): () => void }): void {
    this.#ends.push(
      frames.subscribe((delivery) => this.#carefully(() => this.#devices.take(delivery))),
    );
  }

  /** Records a line of this machine's kernel log about a GPU. */
  addKernelLine(line: KernelLine): void {
    const timeMs = Number(line.timeNs / 1_000_000n);
    const hour = Math.floor(timeMs / 3_600_000);
    if (hour !== this.#kernelLines.hour) this.#kernelLines = { hour, count: 0 };
    this.#kernelLines.count += 1;
    if (this.#kernelLines.count > mostKernelLines) return;
    this.#carefully(() => this.store.add({ ...kernelLineEvent(line), timeMs }));
  }

  /** Wraps a sink to record its alerts and notifications on the timeline. */
  watchAlerts(sink: AlertSink): AlertSink {
    this.#look(() => {
      for (const delivery of (sink.routing?.router.deliveries.list(deliveriesLookedAt) ?? [])
        .filter(({ timeMs }) => timeMs >= this.#recordedMs)
        .reverse()) {
        this.#recordedMs = delivery.timeMs;
        const event = deliveryEvent(delivery);
        if (event !== undefined) this.store.add(event);
      }
    });
    const { store: book } = this;
    const alerts = book.list({ fromMs: 0, toMs: Infinity, kinds: ["alert"], limit: book.size });
    return withTimeline(
      sink,
      { add: (event) => this.#carefully(() => book.add(event)) },
      this.nowMs,
      findOngoingAlerts(alerts.events.map(({ key }) => key)),
    );
  }

  /** Records agents that become silent, stop or return. */
  watchAgents(agents: { readonly list: readonly Agent[] }): void {
    this.#look(() => {
      for (const agent of agents.list) {
        const nowMs = this.nowMs();
        // A late agent is not silent.
        const state = agent.state === "late" ? "ok" : agent.state;
        const before = this.#states.get(agent.id);
        this.#states.set(agent.id, state);
        if (before === undefined || before === state) continue;
        this.#recordAgent(agent, state, nowMs);
      }
    });
  }

  subscribe(listener: (event: TimelineEvent) => void): () => void {
    return this.store.subscribe(listener);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.actions.close();
    this.#devices.close();
    this.store.close();
  }

  #recordAgent({ id, record }: Agent, state: AgentState, nowMs: number): void {
    const titles: Record<AgentState, string> = {
      ok: "reports again",
      late: "reports again",
      silent: "fell silent",
      stopped: "was stopped",
    };
    this.store.add({
      timeMs: nowMs,
      kind: "device",
      state: state === "ok" ? "back" : state,
      severity: state === "silent" ? "warning" : "info",
      title: `agent ${id} ${titles[state]}`,
      labels: { job: record.job, instance: record.instance },
    });
  }

  #look(work: () => void): void {
    const timer = setInterval(() => this.#carefully(work), lookEveryMs).unref();
    this.#ends.push(() => clearInterval(timer));
  }

  /** A full disk must not stop frames or alerts: logs the first failure and continues. */
  #carefully<Result>(work: () => Result): Result | undefined {
    try {
      const result = work();
      this.#isFailing = false;
      return result;
    } catch (thrown) {
      if (!this.#isFailing)
        this.#log.error("writing the timeline failed", { error: formatError(thrown) });
      this.#isFailing = true;
      return undefined;
    }
  }
}
