/** Abortable waits, bounded waits, and exponential back-off with jitter, so that many clients do not retry at the same moment. */
import { type Clock, systemClock } from "./clock.ts";

export interface BackoffOptions {
  readonly firstMs?: number | undefined;
  readonly longestMs?: number | undefined;
}

/** Between half and all of `firstMs` doubled `attempt` times, bounded by `longestMs`. */
export function backoffMs(
  attempt: number,
  random: () => number,
  { firstMs = 100, longestMs = 10_000 }: BackoffOptions = {},
): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 20)) * (0.5 + random() / 2);
}

/** Resolves when the time is over or the signal aborts, whichever is first; never rejects. */
export function pause(
  delayMs: number,
  signal?: AbortSignal,
  clock: Pick<Clock, "after"> = systemClock,
): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Resolves when the work has ended or the time is over, whichever is first; rejects only if the work does. */
export async function within(
  work: Promise<unknown>,
  limitMs: number,
  clock: Pick<Clock, "after"> = systemClock,
): Promise<void> {
  const ended = new AbortController();
  await Promise.race([work.finally(() => ended.abort()), pause(limitMs, ended.signal, clock)]);
}
