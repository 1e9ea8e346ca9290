/** Which alerts others make superfluous: a host that is down silences its GPUs. */
import type { RoutedAlert } from "./alert-book.ts";
import { isResolved } from "./alert-book.ts";
import type { InhibitRule } from "./config.ts";
import { matchesAll } from "./matchers.ts";

/** The rules over what fires now. The fingerprint of one alert that mutes another is all anybody asks for. */
export class Inhibitor {
  readonly #rules: readonly InhibitRule[];
  #keyed: readonly Map<string, RoutedAlert[]>[] = [];

  constructor(rules: readonly InhibitRule[]) {
    this.#rules = rules;
  }

  /** Looks at everything that fires now; asked before `mutedBy`, since alerts come and go. */
  refresh(alerts: readonly RoutedAlert[], nowMs: number): void {
    if (this.#rules.length === 0) return;
    const firing = alerts.filter((alert) => !isResolved(alert, nowMs));
    this.#keyed = this.#rules.map((rule) => {
      const found = new Map<string, RoutedAlert[]>();
      for (const alert of firing) {
        if (!matchesAll(rule.source, alert.labels)) continue;
        const key = equalKey(rule, alert.labels);
        const same = found.get(key);
        if (same === undefined) found.set(key, [alert]);
        else same.push(alert);
      }
      return found;
    });
  }

  mutedBy({ labels }: Pick<RoutedAlert, "labels">): string | undefined {
    for (const [index, rule] of this.#rules.entries()) {
      if (!matchesAll(rule.target, labels)) continue;
      const sources = this.#keyed[index]?.get(equalKey(rule, labels)) ?? [];
      // What is both source and target would otherwise mute itself, and two of them each other.
      const both = matchesAll(rule.source, labels);
      const source = sources.find((one) => !both || !matchesAll(rule.target, one.labels));
      if (source !== undefined) return source.fingerprint;
    }
    return undefined;
  }
}

/** A label that neither has is equal. */
const equalKey = ({ equal }: InhibitRule, labels: ReadonlyMap<string, string>): string =>
  JSON.stringify(equal.map((name) => labels.get(name) ?? ""));
