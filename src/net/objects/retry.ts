/** Tries again what failed for a reason that may be gone by itself: a full disk, a server that is away. */
import { backoffMs, pause } from "../../base/retry.ts";
import type { Log } from "../../base/log.ts";
import { FileStoreError } from "./store.ts";

export interface RetryContext {
  readonly log: Log;
  /** 0 up to 1. */
  readonly random: () => number;
}

const backoff = { firstMs: 500, longestMs: 30_000 };

/** As long as it takes, or until the signal; what can never work is thrown at once. */
export async function retryUntilDone<Result>(
  { log, random }: RetryContext,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof FileStoreError) || !thrown.retryable || signal.aborted) throw thrown;
      log.warn("the lake cannot be used now, trying again", {
        code: thrown.code,
        error: thrown.message,
      });
      await pause(backoffMs(attempt, random, backoff), signal);
      if (signal.aborted) throw thrown;
    }
  }
}
