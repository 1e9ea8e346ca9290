/** When a target is scraped, and which time its samples get. Pure. */

/** A scrape this near to its planned moment gets that moment as its time: evenly spaced times cost the store nothing. */
export const toleranceMs = 2;

/** The first planned moment after `fromMs`: whole intervals since the epoch, plus the target's own offset. */
export const nextMoment = (fromMs: number, intervalMs: number, offsetMs: number): number =>
  Math.floor((fromMs - offsetMs) / intervalMs) * intervalMs + offsetMs + intervalMs;

export function alignedTime(nowMs: number, plannedMs: number, intervalMs: number): number {
  const worthIt = intervalMs > 100 * toleranceMs;
  return worthIt && Math.abs(nowMs - plannedMs) <= toleranceMs ? plannedMs : nowMs;
}

/** The moment after a scrape that was planned for `plannedMs`, also when its timer came a little early or the clock was set. */
export function momentAfter(
  plannedMs: number,
  nowMs: number,
  intervalMs: number,
  offsetMs: number,
): number {
  const early = plannedMs - nowMs <= toleranceMs && plannedMs > nowMs;
  return nextMoment(early ? plannedMs : nowMs, intervalMs, offsetMs);
}
