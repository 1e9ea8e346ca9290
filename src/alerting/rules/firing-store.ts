/**
 * Stores firing alerts across a restart: an alert that resolves during the downtime needs a resolved notification, and only this
 * store has it. An entry exists from before the first send until the resolved one; a failing disk stops no alert.
 */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";
import type { RuleAlert } from "./types.ts";

/** The JSON form. */
export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Text, since JSON has no infinity. */
  readonly value: string;
  readonly activeAtMs: number;
  readonly firedAtMs: number;
}

export class FiringStore {
  readonly #stored: StateMap<FiringAlert>;
  readonly #log: Log;
  readonly #keys = new Map<string, Set<string>>();
  #isSaving = true;

  constructor(stored: StateMap<FiringAlert>, log: Log) {
    this.#stored = stored;
    this.#log = log;
    for (const [name] of stored.entries()) {
      const at = name.indexOf(separator);
      this.#keysOf(name.slice(0, at)).add(name.slice(at + 1));
    }
  }

  /** A rule's alerts at the shutdown, by the key of their labels. */
  of(rule: string): ReadonlyMap<string, FiringAlert> {
    const found = new Map<string, FiringAlert>();
    for (const key of this.#keys.get(rule) ?? []) {
      const alert = this.#stored.get(rule + separator + key);
      if (alert !== undefined) found.set(key, alert);
    }
    return found;
  }

  began(rule: string, alerts: ReadonlyMap<string, RuleAlert>): void {
    if (alerts.size === 0) return;
    const keys = this.#keysOf(rule);
    for (const [key, { labels, annotations, value, activeAtMs, firedAtMs }] of alerts) {
      if (keys.has(key) || firedAtMs === undefined) continue;
      const alert = { annotations, value: String(value), activeAtMs, firedAtMs };
      this.#write(() => {
        this.#stored.put(rule + separator + key, { ...alert, labels: Object.fromEntries(labels) });
        keys.add(key);
      });
    }
  }

  /** Removes a rule's alerts that are not in `still`: they have resolved. */
  ended(rule: string, still: readonly ReadonlyMap<string, unknown>[]): void {
    const keys = this.#keys.get(rule);
    for (const key of keys ?? []) {
      if (still.some((alerts) => alerts.has(key))) continue;
      this.#write(() => {
        this.#stored.delete(rule + separator + key);
        keys?.delete(key);
      });
    }
  }

  /** Removes the alerts of rules that no longer exist: they resolve by timeout. */
  forgetOthers(rules: ReadonlySet<string>): void {
    for (const rule of this.#keys.keys()) {
      if (rules.has(rule)) continue;
      this.ended(rule, []);
      this.#keys.delete(rule);
    }
  }

  #keysOf(rule: string): Set<string> {
    const keys = this.#keys.get(rule) ?? new Set();
    this.#keys.set(rule, keys);
    return keys;
  }

  #write(write: () => void): void {
    try {
      write();
      this.#isSaving = true;
    } catch (thrown) {
      if (this.#isSaving)
        this.#log.error("firing alerts not saved: they resolve late if gpulse stops now", {
          error: formatError(thrown),
        });
      this.#isSaving = false;
    }
  }
}

const separator = "\u0000";
