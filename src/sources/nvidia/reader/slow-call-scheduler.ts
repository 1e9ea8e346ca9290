/**
 * Decides when a slow call may be made without delaying a fast pass: not when it would overlap the next pass, and at most one
 * between two passes with a short interval. Pure: times are arguments.
 */

/** With passes this close together there is room for only one call between two of them. */
const closeTogetherMs = 200;
/** Minimum pause between two calls otherwise, so that the slow calls of many GPUs are spread out. */
const restMs = 50;
const marginMs = 2;
const lateMs = 5;

export class SlowCallScheduler {
  readonly #gapsMs: number[] = [];
  #lastPassMs = Number.NEGATIVE_INFINITY;
  #intervalMs = Number.POSITIVE_INFINITY;
  #lastCallMs = Number.NEGATIVE_INFINITY;
  #callsSincePass = 0;

  passed(nowMs: number): void {
    if (Number.isFinite(this.#lastPassMs)) this.#gapsMs.unshift(nowMs - this.#lastPassMs);
    // The median of three gaps: a late pass, or an extra one at startup, does not predict the next.
    this.#gapsMs.length = Math.min(3, this.#gapsMs.length);
    this.#intervalMs =
      this.#gapsMs.toSorted((a, b) => a - b)[this.#gapsMs.length >> 1] ?? Number.POSITIVE_INFINITY;
    this.#lastPassMs = nowMs;
    this.#callsSincePass = 0;
  }

  called(nowMs: number): void {
    this.#lastCallMs = nowMs;
    this.#callsSincePass++;
  }

  /** Milliseconds to wait before a call that is due at `dueMs` and takes `costMs`; 0 means now. */
  waitMs(nowMs: number, dueMs: number, costMs: number): number {
    const startMs = Math.max(nowMs, dueMs, this.#lastCallMs + restMs);
    const nextPassMs = this.#lastPassMs + this.#intervalMs;
    // There are no passes, or none any more, so there is nothing to avoid.
    if (!Number.isFinite(nextPassMs) || nowMs > nextPassMs + this.#intervalMs)
      return startMs - nowMs;
    // The next pass allows another call; the pass may be slightly late.
    if (this.#intervalMs <= closeTogetherMs && this.#callsSincePass > 0)
      return Math.max(nextPassMs + 1 - nowMs, lateMs);
    const meetsPass = startMs < nextPassMs && startMs + costMs + marginMs > nextPassMs;
    // A call longer than the whole gap is made right after a pass, so that it delays only one pass.
    const neverFits = costMs + marginMs >= this.#intervalMs && this.#callsSincePass === 0;
    if (meetsPass && !neverFits) return nextPassMs + 1 - nowMs;
    return startMs - nowMs;
  }
}
