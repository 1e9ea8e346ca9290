/**
 * One group of alerts on its way to one receiver: waits, sends what is news, and waits again. A channel that fails is tried
 * until the next round, which tells what is true by then; it holds up another channel no longer than that.
 */
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { type AlertRegistry, isResolved, type RoutedAlert } from "./alert-registry.ts";
import type { Route } from "./config.ts";
import { deliver, type DeliveryContext } from "./delivery.ts";
import { labelsText } from "./label-order.ts";
import {
  idempotencyKey,
  type Integration,
  integrationKey,
  type NotifiedAlert,
  notifiedAlerts,
} from "./notification.ts";
import { isDue, type SentLog } from "./sent-log.ts";

export interface Muter {
  /** Why an alert is not told: `silence ID`, `inhibited by FINGERPRINT`; undefined where it is. */
  alert(alert: RoutedAlert): string | undefined;
  /** Why the whole route is quiet now. */
  route(route: Route): string | undefined;
}

export interface GroupContext extends DeliveryContext {
  readonly book: AlertRegistry;
  readonly sent: SentLog;
  readonly muting: Muter;
  readonly integrations: (receiver: string) => readonly Integration[];
  readonly externalUrl: string;
  /** A firing alert is about to be told of: it must be told again when it ends, also after a restart. */
  readonly told: (alert: RoutedAlert) => void;
  /** Its end was told to all of this group that were to hear of it. */
  readonly done: (alert: RoutedAlert) => void;
}

/** A round lasts at least so long: less would not do for a slow mail server. */
const shortestRoundMs = 10_000;

/** Which group an alert belongs to on a route. */
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
    return [...this.#members].flatMap((fingerprint) => this.#context.book.get(fingerprint) ?? []);
  }

  has(fingerprint: string): boolean {
    return this.#members.has(fingerprint);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** What has waited long enough elsewhere, for example before a restart, does not wait again. */
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

  /** Rounds begin every group_interval, but never two at once. */
  async #runRound(): Promise<void> {
    const { clock } = this.#context;
    const { groupIntervalMs } = this.route;
    const startedMs = clock.monotonicMs();
    const timeUp = new AbortController();
    const cancel = clock.after(Math.max(groupIntervalMs, shortestRoundMs), () => timeUp.abort());
    try {
      await loopTurns.turn("alert");
      await this.#flush(AbortSignal.any([timeUp.signal, this.#stop.signal]));
    } finally {
      cancel();
      this.#schedule(Math.max(0, startedMs + groupIntervalMs - clock.monotonicMs()));
    }
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { clock, muting, book } = this.#context;
    const nowMs = clock.nowMs();
    const all = this.alerts;
    const reasons = all.map((alert) => muting.alert(alert));
    const audible = all.filter((_, index) => reasons[index] === undefined);
    const quiet = muting.route(this.route);
    const muted =
      quiet === undefined ? all.filter((_, index) => reasons[index] !== undefined) : all;
    this.#noteSuppressed(
      muted.filter((alert) => !isResolved(alert, nowMs)),
      quiet ?? reasons.find((reason) => reason !== undefined),
      nowMs,
    );
    if (quiet === undefined && audible.length > 0) {
      const alerts = notifiedAlerts(audible, nowMs);
      const integrations = this.#context.integrations(this.route.receiver);
      const taken = await Promise.all(integrations.map((one) => this.#notify(one, alerts, signal)));
      if (!taken.every(Boolean)) return;
    }
    // What every channel has heard the end of is done with, unless it fires again by now.
    for (const alert of all) {
      const latest = book.get(alert.fingerprint);
      if (!isResolved(alert, nowMs) || latest?.updatedAtMs !== alert.updatedAtMs) continue;
      this.#members.delete(alert.fingerprint);
      this.#context.done(alert);
    }
    for (const fingerprint of this.#members)
      if (book.get(fingerprint) === undefined) this.#members.delete(fingerprint);
  }

  /** True when there was nothing to send, or it was taken. */
  async #notify(
    integration: Integration,
    all: readonly NotifiedAlert[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { sent, clock, told, externalUrl } = this.#context;
    const { sendResolved } = integration;
    const key = integrationKey(integration);
    const entry = sent.get(this.id, key);
    const toldFiring = new Set(entry?.firing);
    // What is only remembered may have ended while we were away: it is no news that it fires.
    const alerts = all.filter(
      ({ restored, status, fingerprint }) =>
        restored !== true || status === "resolved" || toldFiring.has(fingerprint),
    );
    if (!isDue(entry, alerts, sendResolved, this.route.repeatIntervalMs, clock.nowMs()))
      return true;
    const firing = alerts.filter(({ status }) => status === "firing");
    const shown = sendResolved ? alerts : firing;
    for (const alert of firing) told(alert);
    const taken =
      shown.length === 0 ||
      (await deliver(
        integration,
        {
          receiver: integration.receiver,
          groupKey: this.key,
          groupLabels: this.labels,
          status: firing.length > 0 ? "firing" : "resolved",
          alerts: shown,
          idempotencyKey: idempotencyKey(this.id, key, entry?.count ?? 0, shown),
          externalUrl,
          routeLabels: this.route.labels,
        },
        this.#context,
        signal,
      ));
    if (taken) sent.set(this.id, key, alerts, clock.nowMs());
    return taken;
  }

  /** Told once for as long as the same alerts are quiet for the same reason. */
  #noteSuppressed(quiet: readonly RoutedAlert[], why: string | undefined, nowMs: number): void {
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
