/** Retries an operation on a file store that failed for a temporary reason: a full disk, an unreachable server. */
import type { Log } from "../../base/log.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { FileStoreError } from "./store.ts";

export interface RetryContext {
  readonly log: Log;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/** Retries until the work succeeds or the signal aborts; a permanent error is thrown at once. */
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
      log.warn("file store unavailable, retrying", { code: thrown.code, error: thrown.message });
      await pause(backoffMs(attempt, random, { firstMs: 500, longestMs: 30_000 }), signal);
      if (signal.aborted) throw thrown;
    }
  }
}
