/**
 * One group of alerts on its way to one receiver: waits, sends what is news, and waits again. A channel that fails is
 * tried again until it takes it; one channel's trouble does not hold up another's.
 */
import { sayError } from "../../errors/error.ts";
import type { Clock } from "../../pipeline/clock.ts";
import type { Log } from "../../log/log.ts";
import type { AlertBook, RoutedAlert } from "./alert-book.ts";
import { isResolved } from "./alert-book.ts";
import type { Route } from "./config.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Integration, NotifiedAlert } from "./notification.ts";
import { idempotencyKey, integrationKey, notifiedAlerts, NotifyTrouble } from "./notification.ts";
import type { SentLog } from "./sent-log.ts";
import { isDue } from "./sent-log.ts";

export interface Muting {
  /** Why an alert is not told: `silence ID`, `inhibited by FINGERPRINT`; undefined where it is. */
  alert(alert: RoutedAlert): string | undefined;
  /** Why the whole route is quiet now. */
  route(route: Route): string | undefined;
}

export interface GroupContext {
  readonly book: AlertBook;
  readonly sent: SentLog;
  readonly deliveries: Deliveries;
  readonly muting: Muting;
  readonly integrations: (receiver: string) => readonly Integration[];
  readonly externalUrl: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** A firing alert was told of: it must be told again when it ends, also after a restart. */
  readonly told: (alert: RoutedAlert) => void;
  /** Its end was told to all that were to hear of it. */
  readonly done: (fingerprint: string) => void;
}

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;
const sendTimeoutMs = 30_000;

export class AlertGroup {
  readonly key: string;
  readonly route: Route;
  readonly labels: ReadonlyMap<string, string>;
  readonly #context: GroupContext;
  readonly #members = new Set<string>();
  readonly #stop = new AbortController();
  #suppressed = "";
  #flushed = false;
  #cancel: (() => void) | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(
    route: Route,
    labels: ReadonlyMap<string, string>,
    key: string,
    context: GroupContext,
  ) {
    this.route = route;
    this.labels = labels;
    this.key = key;
    this.#context = context;
    this.#schedule(route.groupWaitMs);
  }

  get alerts(): readonly RoutedAlert[] {
    return [...this.#members].flatMap((fingerprint) => this.#context.book.get(fingerprint) ?? []);
  }

  has(fingerprint: string): boolean {
    return this.#members.has(fingerprint);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  add(alert: RoutedAlert): void {
    this.#members.add(alert.fingerprint);
    const overdue = alert.startsAtMs + this.route.groupWaitMs < this.#context.clock.nowMs();
    if (!this.#flushed && overdue) this.#schedule(0);
  }

  async close(): Promise<void> {
    this.#cancel?.();
    this.#stop.abort();
    await this.#sending;
  }

  #schedule(delayMs: number): void {
    this.#cancel?.();
    if (this.#stop.signal.aborted) return;
    this.#cancel = this.#context.clock.after(delayMs, () => {
      this.#flushed = true;
      this.#sending = this.#flush().finally(() => this.#schedule(this.route.groupIntervalMs));
    });
  }

  async #flush(): Promise<void> {
    const { clock, muting, book } = this.#context;
    const nowMs = clock.nowMs();
    const all = this.alerts;
    const reasons = all.map((alert) => muting.alert(alert));
    const audible = all.filter((_, index) => reasons[index] === undefined);
    const quiet = muting.route(this.route) ?? reasons.find((reason) => reason !== undefined);
    this.#noteSuppressed(all, audible, quiet, nowMs);
    if (muting.route(this.route) === undefined && audible.length > 0) {
      const alerts = notifiedAlerts(audible, nowMs);
      const integrations = this.#context.integrations(this.route.receiver);
      const taken = await Promise.all(integrations.map((one) => this.#notify(one, alerts)));
      // What every channel has heard the end of is done with.
      if (!taken.every(Boolean)) return;
    }
    for (const alert of all) {
      const now = book.get(alert.fingerprint);
      if (now === undefined || (isResolved(alert, nowMs) && now.updatedAtMs === alert.updatedAtMs))
        this.#leave(alert.fingerprint);
    }
  }

  #leave(fingerprint: string): void {
    this.#members.delete(fingerprint);
    this.#context.done(fingerprint);
  }

  /** True when there was nothing to send, or it was taken, or it never will be. */
  async #notify(integration: Integration, all: readonly NotifiedAlert[]): Promise<boolean> {
    const { sent, clock, told, externalUrl } = this.#context;
    const key = integrationKey(integration);
    const entry = sent.get(this.key, key);
    // What is only remembered may have ended while we were away: it is no news that it fires.
    const alerts = all.filter(
      ({ restored, status, fingerprint }) =>
        restored !== true || status === "resolved" || entry?.firing.includes(fingerprint) === true,
    );
    const { sendResolved } = integration;
    if (!isDue(entry, alerts, sendResolved, this.route.repeatIntervalMs, clock.nowMs()))
      return true;
    const shown = sendResolved ? alerts : alerts.filter(({ status }) => status === "firing");
    if (shown.length === 0) return true;
    for (const alert of shown) if (alert.status === "firing") told(alert);
    const notification = {
      receiver: integration.receiver,
      groupKey: this.key,
      groupLabels: this.labels,
      status: shown.some(({ status }) => status === "firing") ? "firing" : "resolved",
      alerts: shown,
      idempotencyKey: idempotencyKey(this.key, key, entry?.count ?? 0, shown),
      externalUrl,
    } as const;
    return this.#deliver(integration, notification);
  }

  async #deliver(
    integration: Integration,
    notification: Parameters<Integration["send"]>[0],
  ): Promise<boolean> {
    const { sent, clock, log } = this.#context;
    for (let attempts = 1; ; attempts++) {
      if (this.#stop.signal.aborted) return false;
      try {
        const limit = AbortSignal.timeout(sendTimeoutMs);
        await integration.send(notification, AbortSignal.any([limit, this.#stop.signal]));
        sent.set(this.key, integrationKey(integration), notification.alerts, clock.nowMs());
        this.#record(integration, notification, "sent", attempts);
        return true;
      } catch (thrown) {
        if (this.#stop.signal.aborted) return false;
        const why = sayError(thrown);
        const final = thrown instanceof NotifyTrouble && !thrown.retryable;
        if (attempts === 1 || final) {
          log.warn("a notification was not taken", {
            receiver: integration.receiver,
            channel: integration.channel,
            trouble: why,
            again: final ? "no" : "yes",
          });
          this.#record(integration, notification, "failed", attempts, why);
        }
        if (final) return true;
        await this.#pause(attempts, thrown);
      }
    }
  }

  async #pause(attempts: number, thrown: unknown): Promise<void> {
    const { clock, random } = this.#context;
    const asked = thrown instanceof NotifyTrouble ? thrown.retryAfterMs : undefined;
    const growing = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 10));
    const delayMs = asked ?? growing * (0.5 + random() / 2);
    const { signal } = this.#stop;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(delayMs, done);
      function done(): void {
        signal.removeEventListener("abort", done);
        cancel();
        resolve();
      }
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #record(
    { receiver, channel }: Integration,
    { status, alerts, idempotencyKey: key }: Parameters<Integration["send"]>[0],
    outcome: "sent" | "failed",
    attempts: number,
    why?: string,
  ): void {
    this.#context.deliveries.add({
      timeMs: this.#context.clock.nowMs(),
      receiver,
      channel,
      outcome,
      status,
      group: Object.fromEntries(this.labels),
      alerts: alerts.map(({ fingerprint }) => fingerprint),
      attempts,
      why,
      idempotencyKey: key,
    });
  }

  /** Told once for as long as the same alerts are quiet for the same reason. */
  #noteSuppressed(
    all: readonly RoutedAlert[],
    audible: readonly RoutedAlert[],
    why: string | undefined,
    nowMs: number,
  ): void {
    const muted = all.filter((alert) => !audible.includes(alert) && !isResolved(alert, nowMs));
    const routeMuted = this.#context.muting.route(this.route) !== undefined;
    const quiet = routeMuted ? all.filter((alert) => !isResolved(alert, nowMs)) : muted;
    const signature = quiet.length === 0 ? "" : `${why}:${quiet.map((a) => a.fingerprint).join()}`;
    if (signature === this.#suppressed) return;
    this.#suppressed = signature;
    if (signature === "") return;
    this.#context.deliveries.add({
      timeMs: nowMs,
      receiver: this.route.receiver,
      outcome: "suppressed",
      status: "firing",
      group: Object.fromEntries(this.labels),
      alerts: quiet.map(({ fingerprint }) => fingerprint),
      attempts: 0,
      why,
    });
  }
}
