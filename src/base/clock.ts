/** The clock of the pipeline, passed as an argument so that tests can control it. */
import { readFileSync } from "node:fs";
import os from "node:os";

export interface Clock {
  /** Wall-clock time; may jump. */
  nowMs(): number;
  /** For durations; never jumps. */
  monotonicMs(): number;
  /** Since the machine booted, including time in suspend; continues across restarts of the process. */
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

/** The boot id, which changes with every boot of the machine; undefined if the system has none. */
export function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return undefined;
  }
}
