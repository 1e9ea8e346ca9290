/** Inhibition: a firing alert mutes others, for example a down host mutes its GPUs. */
import { isResolved, type RoutedAlert } from "../alert.ts";
import type { InhibitRule } from "./config.ts";
import { matchesAll } from "./matchers.ts";

/** An index of source alerts, updated alert by alert: scanning all of them for each alert is quadratic. */
export class Inhibitor {
  readonly #rules: readonly InhibitRule[];
  /** Source alerts of each rule, by the values of the `equal` labels, then by fingerprint. */
  readonly #sources: readonly Map<string, Map<string, RoutedAlert>>[];

  constructor(rules: readonly InhibitRule[]) {
    this.#rules = rules;
    this.#sources = rules.map(() => new Map<string, Map<string, RoutedAlert>>());
  }

  /** Adds or updates an alert. */
  set(alert: RoutedAlert): void {
    for (const [index, rule] of this.#rules.entries()) {
      if (!matchesAll(rule.source, alert.labels)) continue;
      const byLabels = this.#sources[index];
      const key = equalKey(rule, alert.labels);
      const same = byLabels?.get(key);
      if (same === undefined) byLabels?.set(key, new Map([[alert.fingerprint, alert]]));
      else same.set(alert.fingerprint, alert);
    }
  }

  delete({ fingerprint, labels }: RoutedAlert): void {
    for (const [index, rule] of this.#rules.entries()) {
      const byLabels = this.#sources[index];
      const key = equalKey(rule, labels);
      const same = byLabels?.get(key);
      if (same?.delete(fingerprint) === true && same.size === 0) byLabels?.delete(key);
    }
  }

  /** Returns the fingerprint of a firing alert that mutes this one. */
  mutedBy({ labels }: Pick<RoutedAlert, "labels">, nowMs: number): string | undefined {
    for (const [index, rule] of this.#rules.entries()) {
      if (!matchesAll(rule.target, labels)) continue;
      const sources = this.#sources[index]?.get(equalKey(rule, labels))?.values() ?? [];
      // An alert that is both source and target would mute itself, and two of them each other.
      const both = matchesAll(rule.source, labels);
      for (const source of sources)
        if (!isResolved(source, nowMs) && (!both || !matchesAll(rule.target, source.labels)))
          return source.fingerprint;
    }
    return undefined;
  }
}

/** A label missing on both sides counts as equal. */
const equalKey = ({ equal }: InhibitRule, labels: ReadonlyMap<string, string>): string =>
  JSON.stringify(equal.map((name) => labels.get(name) ?? ""));
