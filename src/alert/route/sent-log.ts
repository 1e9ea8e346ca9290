/** What was last sent to whom about which group: what makes a notification once and not again at every evaluation. */
import type { StateMap } from "../../state/state-map.ts";
import type { NotifiedAlert } from "./notification.ts";

export interface SentEntry {
  readonly firing: readonly string[];
  readonly resolved: readonly string[];
  readonly timeMs: number;
  /** How many notifications of this group have gone this way. */
  readonly count: number;
}

const keptMs = 5 * 86_400_000;

export class SentLog {
  readonly #kept: StateMap<SentEntry>;

  constructor(kept: StateMap<SentEntry>) {
    this.#kept = kept;
  }

  get(groupKey: string, integration: string): SentEntry | undefined {
    return this.#kept.get(keyOf(groupKey, integration));
  }

  set(
    groupKey: string,
    integration: string,
    alerts: readonly NotifiedAlert[],
    nowMs: number,
  ): void {
    const key = keyOf(groupKey, integration);
    const of = (status: NotifiedAlert["status"]): string[] =>
      alerts.filter((alert) => alert.status === status).map(({ fingerprint }) => fingerprint);
    this.#kept.put(key, {
      firing: of("firing"),
      resolved: of("resolved"),
      timeMs: nowMs,
      count: (this.#kept.get(key)?.count ?? 0) + 1,
    });
  }

  forgetOld(nowMs: number): void {
    for (const [key, { timeMs }] of this.#kept.entries())
      if (timeMs + keptMs < nowMs) this.#kept.delete(key);
  }
}

const keyOf = (groupKey: string, integration: string): string => `${integration}\u0000${groupKey}`;

/** Whether there is news: something fires that was not told, all is resolved, or it is time to say it again. */
export function isDue(
  entry: SentEntry | undefined,
  alerts: readonly NotifiedAlert[],
  sendResolved: boolean,
  repeatIntervalMs: number,
  nowMs: number,
): boolean {
  const firing = alerts.filter(({ status }) => status === "firing");
  const resolved = alerts.filter(({ status }) => status === "resolved");
  if (entry === undefined) return firing.length > 0;
  const told = new Set(entry.firing);
  if (firing.some(({ fingerprint }) => !told.has(fingerprint))) return true;
  if (firing.length === 0) return sendResolved && entry.firing.length > 0;
  const ended = new Set(entry.resolved);
  if (sendResolved && resolved.some(({ fingerprint }) => !ended.has(fingerprint))) return true;
  return entry.timeMs <= nowMs - repeatIntervalMs;
}
