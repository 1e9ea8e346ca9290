/**
 * Ticks at whole multiples of an interval of the wall clock, so that every machine of a fleet samples at the same
 * instants. Ticks that a late process missed are counted, not made up for.
 */
import type { Clock } from "../base/clock.ts";

export interface Tick {
  readonly timeMs: number;
  /** Number of ticks missed since the previous one. */
  readonly missed: number;
}

/** The first multiple of the interval after the instant. */
function nextAligned(afterMs: number, intervalMs: number): number {
  return (Math.floor(afterMs / intervalMs) + 1) * intervalMs;
}

/** Starts ticking; the returned function stops it. */
export function startTicker(
  clock: Clock,
  intervalMs: number,
  onTick: (tick: Tick) => void,
): () => void {
  let due = nextAligned(clock.nowMs(), intervalMs);
  let cancel = (): void => {};
  const arm = (): void => {
    cancel = clock.after(Math.max(0, due - clock.nowMs()), fire);
  };
  const fire = (): void => {
    const nowMs = clock.nowMs();
    if (nowMs < due) {
      // Timers may fire a moment early, or the clock may have been set back; by more than one interval, the schedule
      // restarts.
      if (due - nowMs > intervalMs) due = nextAligned(nowMs, intervalMs);
      arm();
      return;
    }
    const timeMs = Math.floor(nowMs / intervalMs) * intervalMs;
    const missed = Math.round((timeMs - due) / intervalMs);
    due = timeMs + intervalMs;
    arm();
    onTick({ timeMs, missed });
  };
  arm();
  return () => cancel();
}
