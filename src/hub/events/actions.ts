/**
 * Actions on alerts: starts a command, or forwards the alert by HTTP. Once per alert and status, also across restarts: an
 * action is persisted before it runs.
 */
import path from "node:path";
import { pause } from "../../base/retry.ts";
import { type LabelMatcher, matchesAll } from "../../alerting/route/matchers.ts";
import { parseMatchers } from "../../alerting/route/parse-matchers.ts";
import type { AlertActionSettings } from "../../cli/command/on-alert.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { EventSink } from "./event.ts";
import { request } from "../../net/http/request.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import type { Log } from "../../base/log.ts";
import { StateMap } from "../../base/state/state-map.ts";
import { alertKey } from "./alert-events.ts";
import { type CommandRun, runCommand, webhookAlertJson } from "./command.ts";
import type { WebhookAlert } from "./payload.ts";

export interface ActionsOptions {
  readonly onAlert: readonly AlertActionSettings[];
  readonly dataDir: string;
  readonly events: EventSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nowMs: () => number;
  /** A clock that follows no jump of the wall clock; records expire by it. */
  readonly trustedNowMs: () => number;
  readonly log: Log;
}

interface Action extends AlertActionSettings {
  readonly index: number;
  readonly matchers: readonly LabelMatcher[];
  readonly waiting: WebhookAlert[];
  readonly running: Set<CommandRun>;
}

/** How long completed actions are remembered: no Alertmanager repeats an alert of last month. */
const rememberedMs = 30 * 86_400_000;
const maxWaiting = 200;
const forwardTries = 3;
const forwardTimeoutMs = 10_000;
const forwardMaxBytes = 64 * 1024;

export class AlertActions {
  readonly #options: ActionsOptions;
  readonly #actions: readonly Action[];
  readonly #done: StateMap<number>;
  readonly #refused = new LogThrottle();
  readonly #closing = new AbortController();
  readonly #forwards = new Set<Promise<void>>();

  /** @throws GpulseError if a matcher is invalid. */
  constructor(options: ActionsOptions) {
    this.#options = options;
    this.#actions = options.onAlert.map((one, index) => ({
      ...one,
      index,
      matchers: one.match.flatMap((text) => readMatchers(text, index)),
      waiting: [],
      running: new Set(),
    }));
    this.#done = new StateMap(path.join(options.dataDir, "events", "actions.state"), {
      log: options.log,
      parse: (value) => (typeof value === "number" ? value : undefined),
    });
    this.#forget();
  }

  get any(): boolean {
    return this.#actions.length > 0;
  }

  /** Returns how many actions were started or queued. */
  take(alert: WebhookAlert): number {
    if (this.#closing.signal.aborted) return 0;
    const labels = new Map(Object.entries(alert.labels));
    let count = 0;
    for (const action of this.#actions) {
      if (action.status !== "both" && action.status !== alert.status) continue;
      if (!matchesAll(action.matchers, labels)) continue;
      const key = `${action.index}:${alertKey(alert)}`;
      if (this.#done.has(key)) continue;
      if (action.command !== undefined && action.waiting.length >= maxWaiting) {
        this.#refuse(alert);
        continue;
      }
      this.#done.put(key, this.#options.trustedNowMs());
      count++;
      if (action.forward !== undefined) this.#forward(action.forward, alert, key);
      if (action.command === undefined) continue;
      action.waiting.push(alert);
      this.#startWaiting(action);
    }
    this.#forget();
    return count;
  }

  /** Stops running commands; queued ones are not started. */
  async close(): Promise<void> {
    this.#closing.abort();
    const runs = this.#actions.flatMap(({ running }) => [...running]);
    for (const run of runs) run.end("ended with the hub");
    await Promise.all([...runs.map(({ done }) => done), ...this.#forwards]);
    this.#done.close();
  }

  /** Limits log lines and events per minute: a flood of alerts must not become a flood of these. */
  #refuse(alert: WebhookAlert): void {
    const line = this.#refused.take("waiting", this.#options.nowMs());
    if (line === undefined) return;
    const says = "too many commands wait already: this one is not started";
    this.#record(alert, "failed", line.more === undefined ? says : `${says}; ${line.more}`);
  }

  #startWaiting(action: Action): void {
    const { command, running, waiting } = action;
    if (command === undefined || this.#closing.signal.aborted) return;
    while (running.size < action.concurrency) {
      const alert = waiting.shift();
      if (alert === undefined) return;
      const run = runCommand(command, alert, action.timeoutMs, this.#options.env);
      running.add(run);
      this.#record(alert, "started", `started ${command[0] ?? ""}`);
      void this.#follow(action, run, alert);
    }
  }

  async #follow(action: Action, run: CommandRun, alert: WebhookAlert): Promise<void> {
    const { ok, how, output } = await run.done;
    action.running.delete(run);
    const says = `${action.command?.[0] ?? ""}: ${how}`;
    this.#record(alert, ok ? "done" : "failed", says, output === "" ? undefined : output);
    this.#startWaiting(action);
  }

  #forward(
    { url, token }: NonNullable<AlertActionSettings["forward"]>,
    alert: WebhookAlert,
    key: string,
  ): void {
    const post = async (): Promise<void> => {
      const answer = await request(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "idempotency-key": key,
          ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
        },
        body: JSON.stringify({
          version: "4",
          status: alert.status,
          receiver: alert.receiver,
          alerts: [webhookAlertJson(alert)],
        }),
        timeoutMs: forwardTimeoutMs,
        maxBytes: forwardMaxBytes,
        signal: this.#closing.signal,
      });
      if (answer.status >= 300) throw new Error(`answered ${answer.status}`);
    };
    const host = new URL(url).host;
    const work = this.#tries(post).then(
      () => this.#record(alert, "done", `handed on to ${host}`),
      (thrown: unknown) => this.#record(alert, "failed", `${host}: ${formatError(thrown)}`),
    );
    this.#forwards.add(work);
    void work.finally(() => this.#forwards.delete(work));
  }

  async #tries(post: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        return await post();
      } catch (thrown) {
        if (attempt >= forwardTries || this.#closing.signal.aborted) throw thrown;
        await pause(1_000 * 2 ** attempt, this.#closing.signal);
      }
  }

  #record(alert: WebhookAlert, state: string, says: string, text?: string): void {
    const name = alert.labels["alertname"] ?? "alert";
    if (state === "failed") this.#options.log.warn("on_alert", { alert: name, says });
    this.#options.events.add({
      timeMs: this.#options.nowMs(),
      kind: "alert",
      state,
      severity: state === "failed" ? "warning" : "info",
      title: `${name}: ${says}`,
      text,
      labels: alert.labels,
    });
  }

  /** Entries are in insertion order, so only the first ones can be old. */
  #forget(): void {
    const oldestMs = this.#options.trustedNowMs() - rememberedMs;
    for (const [key, timeMs] of this.#done.entries()) {
      if (timeMs >= oldestMs) return;
      this.#done.delete(key);
    }
  }
}

function readMatchers(text: string, index: number): readonly LabelMatcher[] {
  try {
    return parseMatchers(text);
  } catch (thrown) {
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `"hub.on_alert.${index}.match" has "${text}", which is not a matcher (${formatError(thrown)}): write alertname="GpuIdle".`,
      { cause: thrown },
    );
  }
}
