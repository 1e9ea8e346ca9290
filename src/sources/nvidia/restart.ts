/** Back-off for restarting an NVML process that ended: 1 s, then doubled each time, up to a minute. Pure. */

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** A process that ran this long resets the back-off. */
const steadyMs = 600_000;

export class RestartBackoff {
  #endsInARow = 0;
  #startAtMs = 0;
  #startedMs = 0;
  #restarts = 0;

  /** Number of processes started as a replacement. */
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
