/**
 * Start times of samples: when the counter or histogram behind a sample began to count from 0. Stored as a series beside the
 * samples' own, with one label more: its values are the start times of the samples at the same times, in milliseconds.
 */
import type { Matcher } from "./select.ts";

/** Label of the series that hold start times. */
export const startTimeLabel = "__start_timestamp__";

export const noStartTimes: Matcher = { name: startTimeLabel, op: "=", value: "" };
export const onlyStartTimes: Matcher = { name: startTimeLabel, op: "!=", value: "" };

/**
 * Whether a sample's start time shows that counting began again after the sample before it, as Prometheus judges it. A start
 * of 0 is unknown.
 */
export function isStartReset(
  startBeforeMs: number,
  beforeMs: number,
  startMs: number,
  timeMs: number,
): boolean {
  if (startMs === startBeforeMs || startMs === 0 || startMs >= timeMs) return false;
  if (startMs !== beforeMs) return startMs > beforeMs;
  // It starts at the sample before it, as deltas do; so does a sample whose sender does not know when counting began.
  return startBeforeMs !== 0 && startBeforeMs < beforeMs;
}

/** Whether a sample claims to have started before the sample before it was taken, and not with it. */
export const overlapsBefore = (startBeforeMs: number, beforeMs: number, startMs: number): boolean =>
  startMs !== 0 && startMs < beforeMs && startMs !== startBeforeMs;
