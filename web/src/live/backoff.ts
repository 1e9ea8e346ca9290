/** How long to wait before the next try: quick at first, never longer than people wait, spread so that pages do not come at once. */
const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/** `random` is in [0, 1). */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (0.75 + random * 0.25));
}
