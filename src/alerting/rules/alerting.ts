/**
 * One alerting rule over time: which of its label sets are pending, which fire, which were resolved. Prometheus's states
 * to the letter; time comes in as an argument and nothing is sent from here.
 */
import type { VectorSample } from "../../query/result.ts";
import type { FiringAlert } from "./firing-store.ts";
import { type AlertTexts, RuleTexts, type TemplateContext } from "./texts.ts";
import type { RuleAlert, AlertingRule, AlertState } from "./types.ts";

/** A resolved alert is told for so long, so that a receiver that missed it hears of it again. */
const resolvedRetentionMs = 15 * 60_000;

type MutableAlert = { -readonly [Key in keyof RuleAlert]: RuleAlert[Key] };

export class AlertingState {
  readonly rule: AlertingRule;
  readonly #texts: RuleTexts;
  #alerts = new Map<string, MutableAlert>();
  /** Those that fired before a restart and have not since. */
  #restored = new Map<string, FiringAlert>();
  /** Set when what was pending before a restart has been looked up; nothing is written before. */
  restored = false;

  constructor(rule: AlertingRule) {
    this.rule = rule;
    this.#texts = new RuleTexts(rule);
  }

  /** Resolved ones among them, for a while. */
  get alerts(): readonly RuleAlert[] {
    return [...this.#alerts.values()];
  }

  /** Pending and firing ones. */
  get active(): readonly RuleAlert[] {
    if (this.#alerts.size === 0) return [];
    return this.alerts.filter(({ state }) => state !== "inactive");
  }

  /** By the key of their labels. */
  get firing(): ReadonlyMap<string, RuleAlert> {
    if (this.#alerts.size === 0) return this.#alerts;
    return new Map([...this.#alerts].filter(([, { state }]) => state === "firing"));
  }

  /** Those that fired before a restart, until they fire again or are taken as ended. */
  get before(): ReadonlyMap<string, FiringAlert> {
    return this.#restored;
  }

  /** They fired before a restart: their end is owed. */
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

  /** Takes over what a rule of the same name and labels had: a reload must not start its timers anew. */
  adopt(other: AlertingState): void {
    for (const [key, alert] of other.#alerts) this.#alerts.set(key, alert);
    this.#restored = other.#restored;
    this.restored = other.restored;
  }

  /**
   * `isHeard` says of one that fired before a restart whether not to be given means that it is over.
   * @throws where two samples come to the same labels, or there are more than the limit: then nothing is active.
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
      // A reload made `for` longer than it has been active.
      alert.state = "pending";
      alert.firedAtMs = undefined;
      alert.lastSentAtMs = undefined;
      alert.keepFiringSinceMs = undefined;
    }
  }

  /** The expression did not give this one any more. */
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

  /** Sets back when each active alert became so, as far as `since` knows it from before a restart. */
  restore(since: (alert: RuleAlert) => number | undefined): void {
    for (const alert of this.#alerts.values()) {
      if (alert.state !== "inactive") alert.activeAtMs = since(alert) ?? alert.activeAtMs;
    }
  }

  /** Those that whoever routes alerts should hear of now, marked as told: firing ones again and again, resolved ones too. */
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

/** The clock may have been set back: what was noted ahead of now would hold up for, the end, and telling of both. */
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
