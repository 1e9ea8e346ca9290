/**
 * Routes alerts to notifications as Alertmanager does, inside the hub. Holds the alerts and their groups; silences, sent and
 * undelivered notifications are in the state folder, so that a killed hub continues where it stopped.
 */
import { formatError } from "../../base/error.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";
import {
  isResolved,
  type PostableAlert,
  type RoutedAlert,
  type UndeliveredAlert,
} from "../alert.ts";
import { AlertRegistry } from "./alert-registry.ts";
import type { Route, RoutingConfig } from "./config.ts";
import type { DeliveryLog } from "./deliveries.ts";
import { AlertGroup, type GroupContext, groupIdOf } from "./group.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { Inhibitor } from "./inhibit.ts";
import type { Integration } from "./notification.ts";
import type { SentLog } from "./sent-log.ts";
import type { Silences } from "./silences.ts";
import { isWithin } from "./time-interval.ts";
import { everyRoute, routesFor } from "./tree.ts";

export interface RouterOptions {
  readonly config: RoutingConfig;
  readonly integrations: (receiver: string) => readonly Integration[];
  readonly silences: Silences;
  readonly sent: SentLog;
  readonly deliveries: DeliveryLog;
  readonly undelivered: StateMap<UndeliveredAlert>;
  readonly externalUrl: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

export interface AlertStatus {
  readonly state: "active" | "suppressed" | "unprocessed";
  readonly silencedBy: readonly string[];
  readonly inhibitedBy: readonly string[];
  readonly mutedBy: readonly string[];
}

const upkeepMs = 30_000;
const resolvedRetentionMs = 15 * 60_000;
/** An undeliverable resolved notification is dropped after this long. */
const maxUndeliveredMs = 5 * 86_400_000;

export class Router {
  readonly #options: RouterOptions;
  readonly #registry: AlertRegistry;
  readonly #groups = new Map<string, AlertGroup>();
  #config: RoutingConfig;
  #inhibitor: Inhibitor;
  #stopUpkeep: () => void = () => {};
  #closed = false;
  /** False after a failed write, so that a failure is logged once and not per alert. */
  #isSaving = true;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#inhibitor = new Inhibitor(options.config.inhibitRules);
    this.#registry = new AlertRegistry(() => this.#config.resolveTimeoutMs);
    this.#restore();
    this.#upkeep();
  }

  get config(): RoutingConfig {
    return this.#config;
  }

  get silences(): Silences {
    return this.#options.silences;
  }

  get deliveries(): DeliveryLog {
    return this.#options.deliveries;
  }

  get alerts(): readonly RoutedAlert[] {
    return this.#registry.all;
  }

  get groups(): readonly AlertGroup[] {
    return [...this.#groups.values()].filter(({ isEmpty }) => !isEmpty);
  }

  /** True while the alert fires. */
  isActive(fingerprint: string): boolean {
    const alert = this.#registry.get(fingerprint);
    return alert !== undefined && !isResolved(alert, this.#options.clock.nowMs());
  }

  /** Adds alerts and returns how many were rejected because the registry is full. */
  put(alerts: readonly PostableAlert[]): number {
    if (this.#closed) return alerts.length;
    const nowMs = this.#options.clock.nowMs();
    let refused = 0;
    for (const posted of alerts) {
      const before = this.#registry.size;
      const alert = this.#registry.put(posted, nowMs);
      if (alert === undefined) {
        refused++;
        continue;
      }
      this.#inhibitor.set(alert);
      const isNew = this.#registry.size > before;
      // A resolved alert that never fired here needs no notification.
      if (isNew && isResolved(alert, nowMs)) continue;
      this.#saveChange(alert, nowMs);
      this.#group(alert);
    }
    return refused;
  }

  /** Keeps restored alerts firing until `endsAtMs` while the rules catch up after a restart. */
  hold(alerts: readonly PostableAlert[]): void {
    const nowMs = this.#options.clock.nowMs();
    for (const { labels, endsAtMs = 0 } of alerts) {
      const known = this.#registry.get(fingerprintOf(labels));
      if (known === undefined || isResolved(known, nowMs) || known.endsAtMs >= endsAtMs) continue;
      const held = { ...known, endsAtMs };
      this.#registry.restore(held);
      this.#inhibitor.set(held);
    }
  }

  routesOf(labels: ReadonlyMap<string, string>): readonly Route[] {
    return routesFor(this.#config.route, labels);
  }

  statusOf(alert: RoutedAlert): AlertStatus {
    const nowMs = this.#options.clock.nowMs();
    const silencedBy = this.#options.silences.mutedBy(alert.labels, nowMs);
    const inhibitor = this.#inhibitor.mutedBy(alert, nowMs);
    const inhibitedBy = inhibitor === undefined ? [] : [inhibitor];
    const suppressed = silencedBy.length > 0 || inhibitedBy.length > 0;
    return { state: suppressed ? "suppressed" : "active", silencedBy, inhibitedBy, mutedBy: [] };
  }

  /** Applies another configuration: alerts, silences and the sent log stay; groups are rebuilt. */
  async reconfigure(config: RoutingConfig): Promise<void> {
    const before = [...this.#groups.values()];
    this.#groups.clear();
    this.#config = config;
    this.#inhibitor = new Inhibitor(config.inhibitRules);
    for (const alert of this.#registry.all) this.#inhibitor.set(alert);
    // Two groups of the same alerts must not send at once.
    await Promise.all(before.map((group) => group.close()));
    const nowMs = this.#options.clock.nowMs();
    for (const alert of this.#registry.all)
      if (!isResolved(alert, nowMs) || this.#options.undelivered.has(alert.fingerprint))
        this.#group(alert);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopUpkeep();
    await Promise.all([...this.#groups.values()].map((group) => group.close()));
  }

  #group(alert: RoutedAlert): void {
    if (this.#closed) return;
    for (const route of this.routesOf(alert.labels)) {
      const labels = groupLabels(route, alert.labels);
      const id = groupIdOf(route, labels);
      let group = this.#groups.get(id);
      if (group === undefined) {
        group = new AlertGroup(route, labels, this.#groupContext());
        this.#groups.set(id, group);
      }
      group.add(alert);
    }
  }

  #isHeld({ fingerprint, labels }: RoutedAlert): boolean {
    return this.routesOf(labels).some(
      (route) =>
        this.#groups.get(groupIdOf(route, groupLabels(route, labels)))?.has(fingerprint) === true,
    );
  }

  #groupContext(): GroupContext {
    const { sent, deliveries, integrations, externalUrl, clock, random, log } = this.#options;
    return {
      registry: this.#registry,
      sent,
      deliveries,
      integrations,
      externalUrl,
      clock,
      random,
      log,
      muting: { alert: (alert) => this.#whyMuted(alert), route: (route) => this.#whyQuiet(route) },
      notifying: (alert) => {
        const known = this.#options.undelivered.get(alert.fingerprint);
        if (known === undefined || hasEnded(known) || !sameWords(known, alert)) this.#save(alert);
      },
      delivered: (alert) => {
        if (!this.#isHeld(alert)) this.#options.undelivered.delete(alert.fingerprint);
      },
    };
  }

  /** Saves an alert when it starts and when it resolves; a repeated post while it fires is not saved. */
  #saveChange(alert: RoutedAlert, nowMs: number): void {
    const known = this.#options.undelivered.get(alert.fingerprint);
    const news = isResolved(alert, nowMs)
      ? known !== undefined && !hasEnded(known)
      : known === undefined || hasEnded(known);
    if (news) this.#save(alert);
  }

  #save({ labels, restored: _, ...alert }: RoutedAlert): void {
    try {
      this.#options.undelivered.put(alert.fingerprint, {
        ...alert,
        labels: Object.fromEntries(labels),
      });
      this.#isSaving = true;
    } catch (thrown) {
      if (this.#isSaving)
        this.#options.log.error("alert state not saved: alerts are lost if gpulse stops now", {
          error: formatError(thrown),
        });
      this.#isSaving = false;
    }
  }

  #whyMuted(alert: RoutedAlert): string | undefined {
    const { silencedBy, inhibitedBy } = this.statusOf(alert);
    if (silencedBy[0] !== undefined) return `silence ${silencedBy[0]}`;
    if (inhibitedBy[0] !== undefined) return `inhibited by alert ${inhibitedBy[0]}`;
    return undefined;
  }

  #whyQuiet({ muteTimes, activeTimes }: Route): string | undefined {
    const nowMs = this.#options.clock.nowMs();
    const within = (name: string): boolean =>
      (this.#config.timeIntervals.get(name) ?? []).some((interval) => isWithin(interval, nowMs));
    const muted = muteTimes.find(within);
    if (muted !== undefined) return `time interval ${muted}`;
    if (activeTimes.length > 0 && !activeTimes.some(within))
      return `outside of ${activeTimes.join(", ")}`;
    return undefined;
  }

  /**
   * Restores the alerts from before a restart. Those whose `endsAt` is in the future still fire; the state of the others is
   * unknown. An alert that is not posted again within resolve_timeout resolves with a notification.
   */
  #restore(): void {
    const nowMs = this.#options.clock.nowMs();
    const waitUntilMs = nowMs + this.#config.resolveTimeoutMs;
    for (const pending of this.#options.undelivered.values()) {
      const ended = hasEnded(pending);
      const { labels, ...rest } = pending;
      const alert: RoutedAlert = {
        ...rest,
        labels: new Map(Object.entries(labels)),
        endsAtMs: ended ? pending.endsAtMs : Math.max(pending.endsAtMs, waitUntilMs),
        timeout: !ended,
        ...(ended || pending.endsAtMs > nowMs ? {} : { restored: true }),
      };
      this.#registry.restore(alert);
      this.#inhibitor.set(alert);
      this.#group(alert);
    }
  }

  #upkeep(): void {
    const { clock } = this.#options;
    this.#stopUpkeep = clock.after(upkeepMs, () => {
      try {
        this.#forgetOld(clock.nowMs());
      } catch (thrown) {
        this.#options.log.error("alert cleanup failed", {
          error: formatError(thrown),
        });
      }
      this.#upkeep();
    });
  }

  #forgetOld(nowMs: number): void {
    for (const [id, group] of this.#groups) {
      if (!group.isEmpty) continue;
      this.#groups.delete(id);
      void group.close();
    }
    const forgotten = this.#registry.forget(
      nowMs - resolvedRetentionMs,
      (alert) => alert.endsAtMs > nowMs - maxUndeliveredMs && this.#isHeld(alert),
    );
    for (const alert of forgotten) this.#inhibitor.delete(alert);
    for (const fingerprint of [...this.#options.undelivered.entries()].map(([key]) => key))
      if (this.#registry.get(fingerprint) === undefined)
        this.#options.undelivered.delete(fingerprint);
    this.#options.silences.forgetExpired(nowMs);
    const repeats = everyRoute(this.#config.route).map((route) => route.repeatIntervalMs);
    this.#options.sent.forgetOld(nowMs, Math.max(...repeats));
  }
}

/** True if its sender resolved it, rather than the resolve timeout. */
const hasEnded = ({ endsAtMs, updatedAtMs }: UndeliveredAlert): boolean => endsAtMs <= updatedAtMs;

const sameWords = (known: UndeliveredAlert, alert: RoutedAlert): boolean =>
  known.startsAtMs === alert.startsAtMs &&
  JSON.stringify(known.annotations) === JSON.stringify(alert.annotations);

function groupLabels(
  { groupBy }: Route,
  labels: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const grouped = [...labels].filter(([name]) => groupBy === undefined || groupBy.has(name));
  return new Map(grouped.sort(([left], [right]) => (left < right ? -1 : 1)));
}
