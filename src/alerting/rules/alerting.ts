/**
 * The state of one alerting rule over time: its pending, firing and resolved label sets, exactly as in Prometheus. Time is an
 * argument, and nothing is sent from here.
 */
import type { VectorSample } from "../../query/result.ts";
import type { FiringAlert } from "./firing-store.ts";
import { type AlertTexts, RuleTexts, type TemplateContext } from "./texts.ts";
import type { RuleAlert, AlertingRule, AlertState } from "./types.ts";

/** A resolved alert is resent for this long, in case a receiver missed it. */
const resolvedRetentionMs = 15 * 60_000;

type MutableAlert = { -readonly [Key in keyof RuleAlert]: RuleAlert[Key] };

export class AlertingState {
  readonly rule: AlertingRule;
  readonly #texts: RuleTexts;
  #alerts = new Map<string, MutableAlert>();
  /** Alerts that fired before a restart and have not fired since. */
  #restored = new Map<string, FiringAlert>();
  /** True once pending timers have been restored; nothing is written before. */
  restored = false;

  constructor(rule: AlertingRule) {
    this.rule = rule;
    this.#texts = new RuleTexts(rule);
  }

  /** Includes recently resolved ones. */
  get alerts(): readonly RuleAlert[] {
    return [...this.#alerts.values()];
  }

  /** Pending and firing alerts. */
  get active(): readonly RuleAlert[] {
    if (this.#alerts.size === 0) return [];
    return this.alerts.filter(({ state }) => state !== "inactive");
  }

  /** Firing alerts by the key of their labels. */
  get firing(): ReadonlyMap<string, RuleAlert> {
    if (this.#alerts.size === 0) return this.#alerts;
    return new Map([...this.#alerts].filter(([, { state }]) => state === "firing"));
  }

  /** Alerts from before a restart that have neither fired again nor resolved. */
  get before(): ReadonlyMap<string, FiringAlert> {
    return this.#restored;
  }

  /** Sets the alerts that fired before a restart: each needs a resolved notification. */
  expect(before: ReadonlyMap<string, FiringAlert>): void {
    this.#restored = new Map(before);
  }

  get state(): AlertState {
    let state: AlertState = "inactive";
    for (const alert of this.#alerts.values()) {
      if (alert.state === "firing") return "firing";
      if (alert.state === "pending") state = "pending";
    }
    return state;
  }

  /** Takes over the state of a rule of the same name and labels: a reload must not restart its timers. */
  adopt(other: AlertingState): void {
    for (const [key, alert] of other.#alerts) this.#alerts.set(key, alert);
    this.#restored = other.#restored;
    this.restored = other.restored;
  }

  /**
   * `hasReported`: true once the alert's inputs have reported since the restart, so a missing result means it has resolved.
   * @throws if two samples get the same labels, or the limit is exceeded: then nothing is active.
   */
  async evaluate(
    samples: readonly VectorSample[],
    timeMs: number,
    limit: number,
    context: TemplateContext,
    hasReported: (labels: RuleAlert["labels"]) => boolean = () => false,
  ): Promise<void> {
    const found = new Map<string, AlertTexts & { readonly value: number }>();
    for (const alert of this.#alerts.values()) notLaterThan(alert, timeMs);
    this.#texts.next();
    for (const sample of samples) {
      const made = await this.#texts.of(sample, timeMs, context);
      if (found.has(made.key))
        throw new Error(
          "vector contains metrics with the same labelset after applying alert labels",
        );
      found.set(made.key, { ...made, value: sample.value });
    }
    for (const [key, { labels, annotations, value }] of found) {
      const known = this.#alerts.get(key);
      if (known === undefined || known.state === "inactive")
        this.#alerts.set(key, newAlert(labels, annotations, value, timeMs));
      else Object.assign(known, { annotations, value });
    }
    for (const [key, stored] of this.#restored) {
      if (found.has(key)) continue;
      const before = firingAlert(stored);
      if (!hasReported(before.labels)) continue;
      this.#restored.delete(key);
      this.#alerts.set(key, before);
    }
    let count = 0;
    for (const [key, alert] of this.#alerts) {
      if (found.has(key)) alert.keepFiringSinceMs = undefined;
      else if (!this.#keepsFiring(key, alert, timeMs)) continue;
      count++;
      this.#advance(alert, timeMs);
      if (alert.state === "firing") this.#restored.delete(key);
    }
    if (limit > 0 && count > limit) {
      this.#alerts = new Map();
      throw new Error(`exceeded limit of ${limit} with ${count} alerts`);
    }
  }

  #advance(alert: MutableAlert, timeMs: number): void {
    const held = timeMs - alert.activeAtMs >= this.rule.forMs;
    if (alert.state === "pending" && held) {
      alert.state = "firing";
      alert.firedAtMs = timeMs;
    } else if (alert.state === "firing" && !held) {
      // A reload made `for` longer than the alert has been active.
      alert.state = "pending";
      alert.firedAtMs = undefined;
      alert.lastSentAtMs = undefined;
      alert.keepFiringSinceMs = undefined;
    }
  }

  /** Decides whether an alert stays when the expression no longer returns it. */
  #keepsFiring(key: string, alert: MutableAlert, timeMs: number): boolean {
    if (alert.state === "firing" && this.rule.keepFiringForMs > 0) {
      alert.keepFiringSinceMs ??= timeMs;
      if (timeMs - alert.keepFiringSinceMs < this.rule.keepFiringForMs) return true;
    }
    const isOld =
      alert.resolvedAtMs !== undefined && timeMs - alert.resolvedAtMs > resolvedRetentionMs;
    if (alert.state === "pending" || isOld) this.#alerts.delete(key);
    if (alert.state !== "inactive") {
      alert.state = "inactive";
      alert.resolvedAtMs = timeMs;
    }
    return false;
  }

  /** Restores the time at which each active alert became active, if `since` returns one. */
  restore(since: (alert: RuleAlert) => number | undefined): void {
    for (const alert of this.#alerts.values()) {
      if (alert.state !== "inactive") alert.activeAtMs = since(alert) ?? alert.activeAtMs;
    }
  }

  /** Returns the alerts due for the router and marks them as sent: firing ones at every resend interval, and resolved ones. */
  toSend(timeMs: number, resendMs: number): readonly RuleAlert[] {
    if (this.#alerts.size === 0) return [];
    const due = [...this.#alerts.values()].filter((alert) => {
      if (alert.state === "pending") return false;
      const { lastSentAtMs, resolvedAtMs } = alert;
      if (lastSentAtMs === undefined) return true;
      if (resolvedAtMs !== undefined && resolvedAtMs > lastSentAtMs) return true;
      return lastSentAtMs + resendMs < timeMs;
    });
    for (const alert of due) alert.lastSentAtMs = timeMs;
    return due;
  }
}

const firingAlert = ({
  labels,
  annotations,
  value,
  activeAtMs,
  firedAtMs,
}: FiringAlert): MutableAlert => ({
  ...newAlert(new Map(Object.entries(labels)), annotations, Number(value), activeAtMs),
  state: "firing",
  firedAtMs,
});

/** After the clock was set back, times in the future would delay `for`, the resolution and resending. */
function notLaterThan(alert: MutableAlert, timeMs: number): void {
  for (const at of ["activeAtMs", "firedAtMs", "resolvedAtMs", "keepFiringSinceMs"] as const)
    if ((alert[at] ?? timeMs) > timeMs) alert[at] = timeMs;
  if ((alert.lastSentAtMs ?? timeMs) > timeMs) alert.lastSentAtMs = undefined;
}

function newAlert(
  labels: MutableAlert["labels"],
  annotations: MutableAlert["annotations"],
  value: number,
  timeMs: number,
): MutableAlert {
  return {
    state: "pending",
    labels,
    annotations,
    value,
    activeAtMs: timeMs,
    firedAtMs: undefined,
    resolvedAtMs: undefined,
    keepFiringSinceMs: undefined,
    lastSentAtMs: undefined,
  };
}
