/** The last notification of each group and integration (Alertmanager's nflog): prevents repeats at every flush. */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { StateMap } from "../../base/state/state-map.ts";

/** Fingerprints of alerts. */
export interface FiringAndResolved {
  readonly firing: readonly string[];
  readonly resolved: readonly string[];
}

export interface SentEntry extends FiringAndResolved {
  readonly timeMs: number;
  /** How many notifications of this group this integration has sent. */
  readonly count: number;
}

const retentionMs = 5 * 86_400_000;

export class SentLog {
  readonly #stored: StateMap<SentEntry>;
  readonly #log: Log;
  /** Entries that could not be written, held in memory so that a full disk causes no repeats. */
  readonly #unwritten = new Map<string, SentEntry>();

  constructor(stored: StateMap<SentEntry>, log: Log) {
    this.#stored = stored;
    this.#log = log;
  }

  get(group: string, integration: string): SentEntry | undefined {
    const key = keyOf(group, integration);
    return this.#unwritten.get(key) ?? this.#stored.get(key);
  }

  set(group: string, integration: string, alerts: FiringAndResolved, nowMs: number): void {
    const entry = {
      ...alerts,
      timeMs: nowMs,
      count: (this.get(group, integration)?.count ?? 0) + 1,
    };
    const key = keyOf(group, integration);
    try {
      this.#stored.put(key, entry);
      this.#unwritten.delete(key);
    } catch (thrown) {
      this.#unwritten.set(key, entry);
      this.#log.error("sent log write failed: notifications are sent again after a restart", {
        error: formatError(thrown),
      });
    }
  }

  /** Removes entries older than both five days and twice the longest repeat interval. */
  forgetOld(nowMs: number, longestRepeatMs: number): void {
    const beforeMs = nowMs - Math.max(retentionMs, 2 * longestRepeatMs);
    for (const [key, { timeMs }] of this.#stored.entries())
      if (timeMs < beforeMs) this.#stored.delete(key);
    for (const [key, { timeMs }] of this.#unwritten)
      if (timeMs < beforeMs) this.#unwritten.delete(key);
  }
}

const keyOf = (group: string, integration: string): string => `${integration}\u0000${group}`;

/** True if a notification is due: an unreported alert fires, all have resolved, or the repeat interval has passed. */
export function isDue(
  entry: SentEntry | undefined,
  { firing, resolved }: FiringAndResolved,
  sendResolved: boolean,
  repeatIntervalMs: number,
  nowMs: number,
): boolean {
  if (entry === undefined) return firing.length > 0;
  if (hasOther(firing, entry.firing)) return true;
  // Also without send_resolved: otherwise an alert that fires again would count as already reported.
  if (firing.length === 0) return entry.firing.length > 0;
  return (
    (sendResolved && hasOther(resolved, entry.resolved)) || entry.timeMs < nowMs - repeatIntervalMs
  );
}

function hasOther(fingerprints: readonly string[], reported: readonly string[]): boolean {
  const known = new Set(reported);
  return fingerprints.some((fingerprint) => !known.has(fingerprint));
}
