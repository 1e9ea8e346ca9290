/**
 * One group of alerts for one receiver: waits, notifies of changes, and waits again. A failing channel is retried until the next
 * flush, which sends the state of that time; it delays the other channels no longer than that.
 */
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { isResolved, type NotifiedAlert, type RoutedAlert } from "../alert.ts";
import type { AlertRegistry } from "./alert-registry.ts";
import type { Route } from "./config.ts";
import { deliver, type DeliveryContext } from "./delivery.ts";
import { byLabels, labelsText } from "./label-order.ts";
import { idempotencyKey, type Integration, integrationKey } from "./notification.ts";
import { isDue, type SentLog } from "./sent-log.ts";

export interface Muter {
  /** Returns why an alert is muted: `silence ID`, `inhibited by FINGERPRINT`; undefined if it is not. */
  alert(alert: RoutedAlert): string | undefined;
  /** Returns why the whole route is muted now; undefined if it is not. */
  route(route: Route): string | undefined;
}

export interface GroupContext extends DeliveryContext {
  readonly registry: AlertRegistry;
  readonly sent: SentLog;
  readonly muting: Muter;
  readonly integrations: (receiver: string) => readonly Integration[];
  readonly externalUrl: string;
  /** Called before a firing alert is sent: its resolved notification is due later, also after a restart. */
  readonly notifying: (alert: RoutedAlert) => void;
  /** Called when every channel of this group has accepted the resolved notification. */
  readonly delivered: (alert: RoutedAlert) => void;
}

/** Minimum time limit of a flush, since mail servers may be slow. */
const minFlushMs = 10_000;

/** The id of the group that an alert belongs to on a route. */
export const groupIdOf = ({ id }: Route, labels: ReadonlyMap<string, string>): string =>
  `${id}:${labelsText(labels)}`;

export class AlertGroup {
  readonly id: string;
  readonly key: string;
  readonly route: Route;
  readonly labels: ReadonlyMap<string, string>;
  readonly #context: GroupContext;
  readonly #members = new Set<string>();
  readonly #stop = new AbortController();
  #suppressed = "";
  #flushed = false;
  #cancel: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(route: Route, labels: ReadonlyMap<string, string>, context: GroupContext) {
    this.id = groupIdOf(route, labels);
    this.key = `${route.key}:${labelsText(labels)}`;
    this.route = route;
    this.labels = labels;
    this.#context = context;
    this.#schedule(route.groupWaitMs);
  }

  get alerts(): readonly RoutedAlert[] {
    return [...this.#members].flatMap(
      (fingerprint) => this.#context.registry.get(fingerprint) ?? [],
    );
  }

  has(fingerprint: string): boolean {
    return this.#members.has(fingerprint);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Adds an alert. One older than group_wait, for example from before a restart, is sent at once. */
  add(alert: RoutedAlert): void {
    this.#members.add(alert.fingerprint);
    const overdue = alert.startsAtMs + this.route.groupWaitMs < this.#context.clock.nowMs();
    if (!this.#flushed && overdue) this.#schedule(0);
  }

  async close(): Promise<void> {
    this.#cancel?.();
    this.#stop.abort();
    await this.#round;
  }

  #schedule(delayMs: number): void {
    this.#cancel?.();
    if (this.#stop.signal.aborted) return;
    this.#cancel = this.#context.clock.after(delayMs, () => {
      this.#flushed = true;
      this.#round = this.#runRound();
    });
  }

  /** Flushes every group_interval, never twice at once. */
  async #runRound(): Promise<void> {
    const { clock } = this.#context;
    const { groupIntervalMs } = this.route;
    const startedMs = clock.monotonicMs();
    const timeUp = new AbortController();
    const cancel = clock.after(Math.max(groupIntervalMs, minFlushMs), () => timeUp.abort());
    try {
      await loopTurns.turn("alert");
      await this.#flush(AbortSignal.any([timeUp.signal, this.#stop.signal]));
    } finally {
      cancel();
      this.#schedule(Math.max(0, startedMs + groupIntervalMs - clock.monotonicMs()));
    }
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { clock, muting, registry } = this.#context;
    const nowMs = clock.nowMs();
    const all = this.alerts;
    const reasons = all.map((alert) => muting.alert(alert));
    const audible = all.filter((_, index) => reasons[index] === undefined);
    const routeMuted = muting.route(this.route);
    const muted =
      routeMuted === undefined ? all.filter((_, index) => reasons[index] !== undefined) : all;
    this.#recordSuppressed(
      muted.filter((alert) => !isResolved(alert, nowMs)),
      routeMuted ?? reasons.find((reason) => reason !== undefined),
      nowMs,
    );
    if (routeMuted === undefined && audible.length > 0) {
      // In Alertmanager's order.
      audible.sort(byLabels);
      const integrations = this.#context.integrations(this.route.receiver);
      const accepted = await Promise.all(
        integrations.map((one) => this.#notify(one, audible, nowMs, signal)),
      );
      if (!accepted.every(Boolean)) return;
    }
    // Alerts that every channel has reported as resolved leave the group, unless they fire again by now.
    for (const alert of all) {
      const latest = registry.get(alert.fingerprint);
      if (!isResolved(alert, nowMs) || latest?.updatedAtMs !== alert.updatedAtMs) continue;
      this.#members.delete(alert.fingerprint);
      this.#context.delivered(alert);
    }
    for (const fingerprint of this.#members)
      if (registry.get(fingerprint) === undefined) this.#members.delete(fingerprint);
  }

  /** Returns true if there was nothing to send, or the channel accepted it. */
  async #notify(
    integration: Integration,
    all: readonly RoutedAlert[],
    flushedMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { sent, clock, notifying, externalUrl } = this.#context;
    const { sendResolved } = integration;
    const key = integrationKey(integration);
    const entry = sent.get(this.id, key);
    const reported = new Set(entry?.firing);
    // A restored alert may have resolved while the hub was down: it is not reported as new.
    const alerts = all.filter(
      (alert) =>
        alert.restored !== true || isResolved(alert, flushedMs) || reported.has(alert.fingerprint),
    );
    const firing = alerts.filter((alert) => !isResolved(alert, flushedMs));
    const state = {
      firing: fingerprints(firing),
      resolved: fingerprints(alerts.filter((alert) => isResolved(alert, flushedMs))),
    };
    if (!isDue(entry, state, sendResolved, this.route.repeatIntervalMs, clock.nowMs())) return true;
    const included = (sendResolved ? alerts : firing).map((alert) => notified(alert, flushedMs));
    for (const alert of firing) notifying(alert);
    const accepted =
      included.length === 0 ||
      (await deliver(
        integration,
        {
          receiver: integration.receiver,
          groupKey: this.key,
          groupLabels: this.labels,
          status: firing.length > 0 ? "firing" : "resolved",
          alerts: included,
          idempotencyKey: idempotencyKey(this.id, key, entry?.count ?? 0, included),
          externalUrl,
          routeLabels: this.route.labels,
        },
        this.#context,
        signal,
      ));
    if (accepted) sent.set(this.id, key, state, clock.nowMs());
    return accepted;
  }

  /** Records once for as long as the same alerts are muted for the same reason. */
  #recordSuppressed(muted: readonly RoutedAlert[], why: string | undefined, nowMs: number): void {
    const signature = muted.length === 0 ? "" : `${why}:${fingerprints(muted).join()}`;
    if (signature === this.#suppressed) return;
    this.#suppressed = signature;
    if (signature === "") return;
    this.#context.deliveries.add({
      timeMs: nowMs,
      receiver: this.route.receiver,
      outcome: "suppressed",
      status: "firing",
      group: Object.fromEntries(this.labels),
      alerts: fingerprints(muted),
      attempts: 0,
      why,
    });
  }
}

const fingerprints = (alerts: readonly RoutedAlert[]): string[] =>
  alerts.map(({ fingerprint }) => fingerprint);

function notified(alert: RoutedAlert, nowMs: number): NotifiedAlert {
  const { fingerprint, labels, annotations, startsAtMs, endsAtMs, generatorUrl } = alert;
  const resolved = isResolved(alert, nowMs);
  return {
    status: resolved ? "resolved" : "firing",
    labels: Object.fromEntries(labels),
    annotations,
    startsAtMs,
    endsAtMs: resolved ? endsAtMs : undefined,
    generatorUrl,
    fingerprint,
  };
}
