// How long a service that died waits before it is started again: twice as long each time, and short again after it held.

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A service that ran this long has recovered: its next death is a first one. */
export const HELD_MS = 60_000;

export function backoffMs(deathsInARow: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, deathsInARow - 1));
}

export function deathsAfter(deathsInARow: number, ranMs: number): number {
  return ranMs >= HELD_MS ? 1 : deathsInARow + 1;
}
