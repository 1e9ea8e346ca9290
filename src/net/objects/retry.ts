/** Tries again what failed for a reason that may be gone by itself: a full disk, a server that is away. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../base/log.ts";
import { FileStoreError } from "./store.ts";

export interface RetryContext {
  readonly log: Log;
  /** 0 up to 1. */
  readonly random: () => number;
}

const firstWaitMs = 500;
const longestWaitMs = 30_000;

/** As long as it takes, or until the signal; what can never work is thrown at once. */
export async function retryUntilDone<Result>(
  { log, random }: RetryContext,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof FileStoreError) || !thrown.retryable || signal.aborted) throw thrown;
      log.warn("the lake cannot be used now, trying again", {
        code: thrown.code,
        error: thrown.message,
      });
      await pause(waitMs * (0.5 + random()), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw thrown;
    }
  }
}
