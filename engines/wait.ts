// Bounded waiting: polls until a condition holds, and reports the last observation at the timeout.

import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 100;

export interface WaitOptions {
  readonly what: string;
  readonly timeoutMs: number;
  /** Ends the wait early with an error, for example because the process has exited. */
  readonly giveUp?: () => string | undefined;
}

/** Polls `attempt` until it returns a value; an attempt that throws is repeated. */
export async function waitUntil<T>(
  options: WaitOptions,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const deadlineMs = performance.now() + options.timeoutMs;
  let last = "nothing yet";
  for (;;) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
      last = "not yet";
    } catch (error) {
      last = error instanceof Error ? describe(error) : String(error);
    }
    const reason = options.giveUp?.();
    if (reason !== undefined) throw new Error(`${options.what}: ${reason}`);
    if (performance.now() > deadlineMs) {
      throw new Error(`${options.what}: not within ${options.timeoutMs / 1000} s (last: ${last})`);
    }
    await sleep(POLL_MS);
  }
}

function describe(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
