/** Which alerts others make superfluous: a host that is down silences its GPUs. */
import type { RoutedAlert } from "./alert-book.ts";
import { isResolved } from "./alert-book.ts";
import type { InhibitRule } from "./config.ts";
import { matchesAll } from "./matchers.ts";

/** The fingerprints of the alerts that mute this one; none where nothing does. */
export class Inhibitor {
  readonly #rules: readonly InhibitRule[];
  #keyed: readonly Map<string, RoutedAlert[]>[] = [];

  constructor(rules: readonly InhibitRule[]) {
    this.#rules = rules;
  }

  /** Looks at everything that fires now; asked before `mutedBy`, since alerts come and go. */
  refresh(alerts: readonly RoutedAlert[], nowMs: number): void {
    this.#keyed = this.#rules.map((rule) => {
      const found = new Map<string, RoutedAlert[]>();
      for (const alert of alerts) {
        if (isResolved(alert, nowMs) || !matchesAll(rule.source, alert.labels)) continue;
        const key = equalKey(rule, alert.labels);
        found.set(key, [...(found.get(key) ?? []), alert]);
      }
      return found;
    });
  }

  mutedBy({ labels, fingerprint }: RoutedAlert): readonly string[] {
    const found: string[] = [];
    this.#rules.forEach((rule, index) => {
      if (!matchesAll(rule.target, labels)) return;
      const sources = this.#keyed[index]?.get(equalKey(rule, labels)) ?? [];
      // What is both source and target would otherwise mute itself, and two of them each other.
      const both = matchesAll(rule.source, labels);
      for (const source of sources) {
        if (source.fingerprint === fingerprint) continue;
        if (both && matchesAll(rule.target, source.labels)) continue;
        found.push(source.fingerprint);
      }
    });
    return found;
  }
}

const equalKey = ({ equal }: InhibitRule, labels: ReadonlyMap<string, string>): string =>
  equal.map((name) => labels.get(name) ?? "").join("\uFFFF");
