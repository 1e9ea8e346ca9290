/**
 * One alerting rule over time: which of its label sets are pending, which fire, which were resolved. Prometheus's states
 * to the letter; time comes in as an argument and nothing is sent from here.
 */
import type { LabelSet } from "../../model/labels.ts";
import { labelKey } from "../../model/labels.ts";
import type { VectorSample } from "../../query/result.ts";
import type { AskQuery } from "../../template/alert.ts";
import { expandAlertTemplate } from "../../template/alert.ts";
import { TemplateError } from "../../template/lex.ts";
import type { Alert, AlertingRule, AlertState } from "./types.ts";

/** A resolved alert is told for so long, so that a receiver that missed it hears of it again. */
const resolvedRetentionMs = 15 * 60_000;

interface Mutable {
  state: AlertState;
  labels: ReadonlyMap<string, string>;
  annotations: Readonly<Record<string, string>>;
  value: number;
  activeAtMs: number;
  firedAtMs: number | undefined;
  resolvedAtMs: number | undefined;
  keepFiringSinceMs: number | undefined;
  lastSentAtMs: number | undefined;
}

export interface TemplateContext {
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  readonly ask: AskQuery;
}

export class AlertingState {
  readonly rule: AlertingRule;
  readonly #active = new Map<string, Mutable>();
  /** Set when what was pending before a restart has been looked up. */
  restored = false;

  constructor(rule: AlertingRule) {
    this.rule = rule;
  }

  get alerts(): readonly Alert[] {
    return [...this.#active.values()];
  }

  /** Pending and firing ones. */
  get active(): readonly Alert[] {
    return this.alerts.filter(({ state }) => state !== "inactive");
  }

  get state(): AlertState {
    let state: AlertState = "inactive";
    for (const alert of this.#active.values()) {
      if (alert.state === "firing") return "firing";
      if (alert.state === "pending") state = "pending";
    }
    return state;
  }

  /** Takes over what a rule of the same text had: a reload must not start its timers anew. */
  adopt(other: AlertingState): void {
    for (const [key, alert] of other.#active) this.#active.set(key, alert);
    this.restored = other.restored;
  }

  /** @throws where two samples come to the same labels, or there are more than the limit: then nothing is active. */
  async evaluate(
    samples: readonly VectorSample[],
    timeMs: number,
    limit: number,
    context: TemplateContext,
  ): Promise<void> {
    const found = new Map<string, Mutable>();
    for (const sample of samples) {
      const made = await this.#alertOf(sample, timeMs, context);
      const key = labelKey([...made.labels]);
      if (found.has(key))
        throw new Error(
          "vector contains metrics with the same labelset after applying alert labels",
        );
      found.set(key, made);
    }
    for (const [key, alert] of found) {
      const known = this.#active.get(key);
      if (known === undefined || known.state === "inactive") this.#active.set(key, alert);
      else {
        known.value = alert.value;
        known.annotations = alert.annotations;
      }
    }
    let count = 0;
    for (const [key, alert] of this.#active) {
      if (!found.has(key)) this.#missing(key, alert, timeMs);
      else {
        count++;
        alert.keepFiringSinceMs = undefined;
        if (alert.state === "pending" && timeMs - alert.activeAtMs >= this.rule.forMs) {
          alert.state = "firing";
          alert.firedAtMs = timeMs;
        }
      }
    }
    if (limit > 0 && count > limit) {
      this.#active.clear();
      throw new Error(`exceeded limit of ${limit} with ${count} alerts`);
    }
  }

  /** The expression did not give this one any more. */
  #missing(key: string, alert: Mutable, timeMs: number): void {
    if (alert.state === "firing" && this.rule.keepFiringForMs > 0) {
      alert.keepFiringSinceMs ??= timeMs;
      if (timeMs - alert.keepFiringSinceMs < this.rule.keepFiringForMs) return;
    }
    const told =
      alert.resolvedAtMs !== undefined && timeMs - alert.resolvedAtMs > resolvedRetentionMs;
    if (alert.state === "pending" || told) this.#active.delete(key);
    if (alert.state !== "inactive") {
      alert.state = "inactive";
      alert.resolvedAtMs = timeMs;
    }
  }

  async #alertOf(sample: VectorSample, timeMs: number, context: TemplateContext): Promise<Mutable> {
    const own = new Map(sample.labels.filter(([name]) => name !== "__name__"));
    const data = { ...context, labels: own, value: sample.value };
    const expand = async (source: string): Promise<string> => {
      try {
        return await expandAlertTemplate(source, data, timeMs, context.ask);
      } catch (thrown) {
        if (thrown instanceof TemplateError) return `<error expanding template: ${thrown.message}>`;
        throw thrown;
      }
    };
    const labels = new Map(own);
    for (const [name, source] of Object.entries(this.rule.labels)) {
      const value = await expand(source);
      if (value === "") labels.delete(name);
      else labels.set(name, value);
    }
    labels.set("alertname", this.rule.name);
    const annotations: Record<string, string> = {};
    for (const [name, source] of Object.entries(this.rule.annotations))
      annotations[name] = await expand(source);
    return {
      state: "pending",
      labels: new Map([...labels].sort(([left], [right]) => (left < right ? -1 : 1))),
      annotations,
      value: sample.value,
      activeAtMs: timeMs,
      firedAtMs: undefined,
      resolvedAtMs: undefined,
      keepFiringSinceMs: undefined,
      lastSentAtMs: undefined,
    };
  }

  /** Sets back when an alert became active, as far as it was known before a restart. */
  restore(labels: LabelSet, activeAtMs: number): void {
    const alert = this.#active.get(labelKey(labels));
    if (alert !== undefined && alert.state !== "inactive") alert.activeAtMs = activeAtMs;
  }

  /** Those that whoever routes alerts should hear of now, marked as told: firing ones again and again, resolved ones too. */
  toSend(timeMs: number, resendMs: number): readonly Alert[] {
    const due = [...this.#active.values()].filter((alert) => {
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
