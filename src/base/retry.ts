/** Pauses between attempts that grow, with jitter so that many readers do not come back at the same moment. */
import { setTimeout as sleep } from "node:timers/promises";

const firstMs = 100;
const longestMs = 10_000;

/** Between half and the whole of the pause that the attempt's number gives. */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 10)) * (0.5 + random() / 2);
}

/** Resolves when the time is over or the signal aborts, whichever is first. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal, ref: true }).catch(() => undefined);
}
