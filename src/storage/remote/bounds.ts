/** Times as engines accept them, clamped: engines overflow at the limits of their integers. */

const latestMs = Date.UTC(2100, 0, 1);
/** VictoriaMetrics 1.79 finds no series from 0 on when the end lies in the future. */
const earliestMs = 1;

export const clampMs = (timeMs: number): number =>
  Math.max(earliestMs, Math.min(Math.round(timeMs), latestMs));

/** Milliseconds as seconds, without an exponent. */
export const secondsText = (timeMs: number): string => (timeMs / 1_000).toFixed(3);
