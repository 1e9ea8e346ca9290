/** Parses instants in the formats of users and Prometheus clients: Unix seconds with decimals, or RFC 3339. */
import { parseDurationMs } from "./duration.ts";

/** The full range of a time: every integer that a number represents exactly. */
export const fullTimeRange = {
  minTimeMs: Number.MIN_SAFE_INTEGER,
  maxTimeMs: Number.MAX_SAFE_INTEGER,
} as const;

export function parseTimeMs(given: string): number | undefined {
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(given)) {
    const ms = Math.round(Number(given) * 1_000);
    return Math.abs(ms) <= fullTimeRange.maxTimeMs ? ms : undefined;
  }
  if (!/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(given))
    return undefined;
  const ms = Date.parse(given);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Accepts a date, an instant, or an age such as `30d`. */
export function resolveTimeMs(text: string, nowMs: number): number | undefined {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseTimeMs(`${text}T00:00:00Z`);
  const agoMs = /[a-z]$/.test(text) ? parseDurationMs(text) : undefined;
  return agoMs === undefined ? parseTimeMs(text) : nowMs - agoMs;
}
