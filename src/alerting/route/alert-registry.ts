/** The active alerts and the recently resolved ones, by fingerprint, merged by Alertmanager's rules. */
import { isResolved, type PostableAlert, type RoutedAlert } from "../alert.ts";
import { fingerprintOf } from "./fingerprint.ts";

const maxAlerts = 100_000;

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

  /** Returns the merged alert; undefined if the registry is full. */
  put(posted: PostableAlert, nowMs: number): RoutedAlert | undefined {
    const fingerprint = fingerprintOf(posted.labels);
    const before = this.#alerts.get(fingerprint);
    if (before === undefined && this.#alerts.size >= maxAlerts) return undefined;
    const filled = this.#fill(posted, fingerprint, nowMs);
    const alert =
      before !== undefined && overlaps(filled, before) ? merged(before, filled, nowMs) : filled;
    this.#alerts.set(fingerprint, alert);
    return alert;
  }

  restore(alert: RoutedAlert): void {
    this.#alerts.set(alert.fingerprint, alert);
  }

  /** Removes and returns the alerts resolved before `beforeMs`, except those for which `keeps` is true. */
  forget(beforeMs: number, keeps: (alert: RoutedAlert) => boolean): readonly RoutedAlert[] {
    const forgotten = this.all.filter((alert) => alert.endsAtMs < beforeMs && !keeps(alert));
    for (const { fingerprint } of forgotten) this.#alerts.delete(fingerprint);
    return forgotten;
  }

  #fill(posted: PostableAlert, fingerprint: string, nowMs: number): RoutedAlert {
    const endsAtMs = posted.endsAtMs ?? nowMs + this.#resolveTimeoutMs();
    const startsAtMs = posted.startsAtMs ?? posted.endsAtMs ?? nowMs;
    return {
      fingerprint,
      labels: posted.labels,
      annotations: posted.annotations,
      startsAtMs,
      endsAtMs,
      updatedAtMs: nowMs,
      generatorUrl: posted.generatorUrl,
      timeout: posted.endsAtMs === undefined,
    };
  }
}

/** True if two alerts with the same labels overlap in time; one that starts when the other ends is a new alert. */
function overlaps(filled: RoutedAlert, before: RoutedAlert): boolean {
  return (
    (filled.endsAtMs > before.startsAtMs && filled.endsAtMs < before.endsAtMs) ||
    (filled.startsAtMs > before.startsAtMs && filled.startsAtMs < before.endsAtMs)
  );
}

/** Takes the newer annotations and the earlier start; a posted end takes precedence over a timeout. */
function merged(before: RoutedAlert, filled: RoutedAlert, nowMs: number): RoutedAlert {
  const startsAtMs = Math.min(before.startsAtMs, filled.startsAtMs);
  const later = before.endsAtMs > filled.endsAtMs;
  const keepsEnd = isResolved(filled, nowMs)
    ? isResolved(before, nowMs) && later
    : later && !before.timeout;
  // An end recorded while the clock was ahead must not lie in the future.
  const endsAtMs = isResolved(filled, nowMs) ? Math.min(before.endsAtMs, nowMs) : before.endsAtMs;
  return { ...filled, startsAtMs, endsAtMs: keepsEnd ? endsAtMs : filled.endsAtMs };
}
