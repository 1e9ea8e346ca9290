/** The active alerts and the recently resolved ones, by fingerprint. Merged as Alertmanager merges them. */
import { isResolved, type PostableAlert, type RoutedAlert } from "../alert.ts";
import { fingerprintOf } from "./fingerprint.ts";

export const maxAlerts = 100_000;

export class AlertRegistry {
  readonly #alerts = new Map<string, RoutedAlert>();
  readonly #resolveTimeoutMs: () => number;

  constructor(resolveTimeoutMs: () => number) {
    this.#resolveTimeoutMs = resolveTimeoutMs;
  }

  get(fingerprint: string): RoutedAlert | undefined {
    return this.#alerts.get(fingerprint);
  }

  get all(): readonly RoutedAlert[] {
    return [...this.#alerts.values()];
  }

  get size(): number {
    return this.#alerts.size;
  }

  /** Returns it as it now stands; undefined where there is no room for another. */
  put(told: PostableAlert, nowMs: number): RoutedAlert | undefined {
    const fingerprint = fingerprintOf(told.labels);
    const before = this.#alerts.get(fingerprint);
    if (before === undefined && this.#alerts.size >= maxAlerts) return undefined;
    const made = this.#fill(told, fingerprint, nowMs);
    const alert =
      before !== undefined && overlaps(made, before) ? merged(before, made, nowMs) : made;
    this.#alerts.set(fingerprint, alert);
    return alert;
  }

  /** Takes one back as it was kept. */
  restore(alert: RoutedAlert): void {
    this.#alerts.set(alert.fingerprint, alert);
  }

  /** Forgets what has been resolved since before then, but for what `keeps` still wants; returns what it forgot. */
  forget(beforeMs: number, keeps: (alert: RoutedAlert) => boolean): readonly RoutedAlert[] {
    const forgotten = this.all.filter((alert) => alert.endsAtMs < beforeMs && !keeps(alert));
    for (const { fingerprint } of forgotten) this.#alerts.delete(fingerprint);
    return forgotten;
  }

  #fill(told: PostableAlert, fingerprint: string, nowMs: number): RoutedAlert {
    const endsAtMs = told.endsAtMs ?? nowMs + this.#resolveTimeoutMs();
    const startsAtMs = told.startsAtMs ?? told.endsAtMs ?? nowMs;
    return {
      fingerprint,
      labels: told.labels,
      annotations: told.annotations,
      startsAtMs,
      endsAtMs,
      updatedAtMs: nowMs,
      generatorUrl: told.generatorUrl,
      timeout: told.endsAtMs === undefined,
    };
  }
}

/** One that begins when the other ended is another. */
function overlaps(made: RoutedAlert, before: RoutedAlert): boolean {
  return (
    (made.endsAtMs > before.startsAtMs && made.endsAtMs < before.endsAtMs) ||
    (made.startsAtMs > before.startsAtMs && made.startsAtMs < before.endsAtMs)
  );
}

/** The newer words, the earlier start; an end that was told wins over one that was only waited for. */
function merged(before: RoutedAlert, made: RoutedAlert, nowMs: number): RoutedAlert {
  const startsAtMs = Math.min(before.startsAtMs, made.startsAtMs);
  const later = before.endsAtMs > made.endsAtMs;
  const keepsEnd = isResolved(made, nowMs)
    ? isResolved(before, nowMs) && later
    : later && !before.timeout;
  // An end that was noted while the clock was ahead is no end to wait for.
  const keptEndMs = isResolved(made, nowMs) ? Math.min(before.endsAtMs, nowMs) : before.endsAtMs;
  return { ...made, startsAtMs, endsAtMs: keepsEnd ? keptEndMs : made.endsAtMs };
}
