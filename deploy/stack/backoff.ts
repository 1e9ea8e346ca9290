// Back-off before a dead service is restarted: doubles each time, and is short again after the service ran for a while.

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A service that ran this long has recovered: its next failure counts as the first. */
export const HELD_MS = 60_000;

export function backoffMs(deathsInARow: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, deathsInARow - 1));
}

export function deathsAfter(deathsInARow: number, ranMs: number): number {
  return ranMs >= HELD_MS ? 1 : deathsInARow + 1;
}
