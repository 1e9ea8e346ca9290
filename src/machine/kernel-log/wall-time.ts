/** From the kernel's clock to wall time. Times of one run only go up, unless the wall clock is set back. */

export interface ClockReading {
  readonly wallMs: number;
  /** The clock the kernel's log runs by: CLOCK_MONOTONIC, not the process's own age. */
  readonly sinceBootUs: number;
}

const stepNs = 1_000_000_000n;

export class WallTime {
  #lastNs = 0n;

  /**
   * @param notBeforeMs when the log was last seen to hold nothing new. The kernel's clock is not kept in step with the wall's
   * and is minutes off after months, so a record that was just written is held to the time between that look and now.
   */
  of(sinceBootUs: number, now: ClockReading, notBeforeMs: number): bigint {
    const nowUs = Math.round(now.wallMs * 1_000);
    const told = nowUs - (now.sinceBootUs - sinceBootUs);
    const us = Math.min(nowUs, Math.max(Math.round(notBeforeMs * 1_000), told));
    const ns = BigInt(Math.max(0, Math.round(us))) * 1_000n;
    const isBackwards = ns <= this.#lastNs && this.#lastNs - ns < stepNs;
    this.#lastNs = isBackwards ? this.#lastNs + 1n : ns;
    return this.#lastNs;
  }
}

export const systemNow = (): ClockReading => ({
  wallMs: Date.now(),
  sinceBootUs: Number(process.hrtime.bigint() / 1_000n),
});
