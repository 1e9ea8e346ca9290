/** When an NVML process that ended may be started again: after 1 s, then twice as long each time, up to a minute. Pure. */

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** One that ran this long ended for a reason of its own: the pauses begin with the first again. */
const steadyMs = 600_000;

export class RestartBackoff {
  #endsInARow = 0;
  #startAtMs = 0;
  #startedMs = 0;
  #restarts = 0;

  /** How many were started in place of one that ended. */
  get restarts(): number {
    return this.#restarts;
  }

  waitMs(nowMs: number): number {
    return Math.max(0, this.#startAtMs - nowMs);
  }

  started(nowMs: number): void {
    this.#startedMs = nowMs;
    if (this.#startAtMs > 0) this.#restarts++;
  }

  /** Returns the pause until the next start. */
  ended(nowMs: number): number {
    if (nowMs - this.#startedMs >= steadyMs) this.#endsInARow = 0;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#endsInARow, 20));
    this.#endsInARow++;
    this.#startAtMs = nowMs + pauseMs;
    return pauseMs;
  }
}
