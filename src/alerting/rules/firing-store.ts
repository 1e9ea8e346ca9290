/**
 * What fires, kept over a restart: an alert that ends while nobody looks is owed its end, and after the restart only this
 * says that there was one. Kept from before it is sent until its end was sent; a disk that refuses stops no alert.
 */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";
import type { RuleAlert } from "./types.ts";

/** As JSON holds it. */
export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Text, since it may be infinite. */
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

  /** What a rule's alerts were when we went away, by the key of their labels. */
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

  /** All that are not among these, nor waited for, have ended. */
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

  /** Other rules are no more: who heard of their alerts hears no more of them, and takes them as ended in time. */
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
