/**
 * Start times of samples: when the counter or histogram behind a sample started at 0. Stored as a series beside the samples' own,
 * with one additional label; its values are the start times, in milliseconds, of the samples at the same times.
 */
import type { Matcher } from "./select.ts";

/** Label of the series with start times. */
export const startTimeLabel = "__start_timestamp__";

export const noStartTimes: Matcher = { name: startTimeLabel, op: "=", value: "" };
export const onlyStartTimes: Matcher = { name: startTimeLabel, op: "!=", value: "" };

/**
 * True if a sample's start time shows a counter reset since the previous sample, with the rules of Prometheus. A start of 0 is
 * unknown.
 */
export function isStartReset(
  startBeforeMs: number,
  beforeMs: number,
  startMs: number,
  timeMs: number,
): boolean {
  if (startMs === startBeforeMs || startMs === 0 || startMs >= timeMs) return false;
  if (startMs !== beforeMs) return startMs > beforeMs;
  // The sample starts at the previous sample, as deltas do; so does a sample whose sender does not know the start.
  return startBeforeMs !== 0 && startBeforeMs < beforeMs;
}

/** True if a sample claims to have started before the previous sample was taken, but not at that sample's start. */
export const overlapsBefore = (startBeforeMs: number, beforeMs: number, startMs: number): boolean =>
  startMs !== 0 && startMs < beforeMs && startMs !== startBeforeMs;
