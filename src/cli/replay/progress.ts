/** The progress of a replay, and the duration of a recording, read from the beginning and end of its file. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { PaceState, ReplayBound } from "../../pipeline/replay/paced.ts";
import type { ProgressStep } from "../command/progress.ts";
import { formatCount } from "../command/quantity.ts";

/** Formats `50 %  1,234 frames  10/s  at 2026-01-01T00:00:00.000Z  1m left`. */
export function replayStep(state: PaceState, lengthMs: number | undefined): ProgressStep {
  const { frames, round, timeMs, behindMs, roundMs = lengthMs, givenMs, skipped } = state;
  return {
    name: "",
    fraction:
      roundMs === undefined || roundMs <= 0 ? undefined : (givenMs - round * roundMs) / roundMs,
    count: frames,
    unit: "frame",
    notes: [
      timeMs === undefined ? undefined : `at ${new Date(timeMs).toISOString()}`,
      round > 0 ? `round ${round + 1}` : undefined,
      behindMs > 1_000 ? `${(behindMs / 1_000).toFixed(1)} s behind` : undefined,
      skipped > 0 ? `${formatCount(skipped)} left out` : undefined,
    ].filter((text) => text !== undefined),
  };
}

/** The file in a source URL such as `gpuz:FILE?gpu-name=X`; other text is returned unchanged. */
export const fileOf = (given: string): string =>
  existsSync(given)
    ? given
    : given.replace(/^[a-z][a-z0-9+.-]*:(?!\/\/)/, "").replace(/\?.*$/s, "");

const endBytes = 65_536;
const timePattern = /(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)/g;

/**
 * Duration between the first and the last timestamp of a text file. Times may be local: only the difference matters. Returns
 * undefined for a file without timestamps, such as Parquet.
 */
export function recordingLengthMs(file: string): number | undefined {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch {
    // Not a file: a Parquet folder or a source URL.
    return undefined;
  }
  try {
    const { size } = fstatSync(handle);
    const textAt = (at: number): string => {
      const bytes = Buffer.alloc(Math.min(endBytes, size));
      return bytes.toString("latin1", 0, readSync(handle, bytes, 0, bytes.length, at));
    };
    const first = timesIn(textAt(0)).at(0);
    const last = timesIn(textAt(Math.max(0, size - endBytes))).at(-1);
    return first === undefined || last === undefined || last <= first ? undefined : last - first;
  } catch {
    return undefined;
  } finally {
    closeSync(handle);
  }
}

const timesIn = (text: string): number[] =>
  [...text.matchAll(timePattern)].map(([, day, time]) => Date.parse(`${day}T${time}Z`));

/** The duration after --start and --end; undefined if they are absolute times. */
export function boundedLengthMs(
  lengthMs: number | undefined,
  start: ReplayBound | undefined,
  end: ReplayBound | undefined,
): number | undefined {
  if (lengthMs === undefined || start?.kind === "time" || end?.kind === "time") return undefined;
  return Math.max(0, Math.min(lengthMs, end?.ms ?? lengthMs) - (start?.ms ?? 0));
}
