/** Time as the pipeline sees it, handed in so that tests can own it. */

export interface Clock {
  /** Wall-clock time; may jump. */
  nowMs(): number;
  /** For durations; never jumps. */
  monotonicMs(): number;
  /** Calls once after the delay; the returned function cancels. */
  after(delayMs: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
