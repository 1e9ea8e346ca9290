/**
 * Ends the series that a stop of the process cut off: at the next start those that missed samples meanwhile, and after a short
 * stop those that do not continue. Without this, queries return their last values for as long as the lookback.
 */

import type { Appender } from "./append.ts";
import { lookbackMs } from "./frames.ts";
import type { Head } from "./head/head.ts";
import type { AppendResult } from "./options.ts";

/** A restart takes less time. */
const shortestMs = 15_000;
/** An interruption of a series whose interval is unknown: one that is scraped once a minute continues within it. */
const unknownIntervalMs = 60_000;
/** An interruption, in intervals of the series. */
const missedIntervals = 3;
/** When the silent series are ended after the start, each at the first of these times that is three of its intervals. */
export const silentStepsMs: readonly number[] = [30_000, 60_000, 180_000];

export interface Interruption {
  readonly head: Pick<Head, "newestMs" | "newestIntervalMs">;
  readonly series: { readonly end: number; isAlive(ref: number): boolean };
  /** The last write of the last process; undefined in a new folder. */
  readonly lastWriteMs: number | undefined;
  readonly appender: Pick<Appender, "addStale" | "commit">;
}

/**
 * Ends every series that was current when the last process stopped and has missed samples since, right after its last sample, so
 * that the downtime is a gap and not a flat line. Does nothing after a short interruption, because most series continue.
 */
export function endInterrupted(interruption: Interruption, nowMs: number): AppendResult {
  const { lastWriteMs = nowMs } = interruption;
  if (nowMs - lastWriteMs < shortestMs) return interruption.appender.commit();
  return endWhere(interruption, (newestMs, intervalMs) => {
    const missingMs = Math.max(shortestMs, missedIntervals * intervalMs);
    return newestMs < nowMs - Math.min(missingMs, unknownIntervalMs);
  });
}

/** Ends the series without a sample since the start, of those whose time to continue ends with this step. */
export function endSilent(interruption: Interruption, startMs: number, step: number): AppendResult {
  const [afterMs, untilMs] = [silentStepsMs[step - 1] ?? 0, silentStepsMs[step] ?? 0];
  return endWhere(interruption, (newestMs, intervalMs) => {
    const missingMs = missedIntervals * intervalMs;
    // An interval of a millisecond is that of a series which was ended at the start.
    return newestMs <= startMs && intervalMs > 1 && missingMs > afterMs && missingMs <= untilMs;
  });
}

function endWhere(
  { head, series, lastWriteMs, appender }: Interruption,
  isOver: (newestMs: number, intervalMs: number) => boolean,
): AppendResult {
  if (lastWriteMs === undefined) return appender.commit();
  for (let ref = 0; ref < series.end; ref++) {
    const newestMs = head.newestMs(ref);
    // Excludes imported and late samples, whose series had ended before.
    if (newestMs < lastWriteMs - lookbackMs || !series.isAlive(ref)) continue;
    const intervalMs = head.newestIntervalMs(ref) ?? unknownIntervalMs / missedIntervals;
    if (isOver(newestMs, intervalMs)) appender.addStale(ref, newestMs + 1);
  }
  return appender.commit();
}
