/** Time as the pipeline sees it, handed in so that tests can own it. */
import { readFileSync } from "node:fs";
import os from "node:os";

export interface Clock {
  /** Wall-clock time; may jump. */
  nowMs(): number;
  /** For durations; never jumps. */
  monotonicMs(): number;
  /** Since the machine was started, time in which it was suspended included; continues over restarts of the process. */
  uptimeMs(): number;
  /** Calls once after the delay; the returned function cancels. */
  after(delayMs: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => os.uptime() * 1_000,
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Changes with every start of the machine; undefined where the system has none. */
export function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return undefined;
  }
}
