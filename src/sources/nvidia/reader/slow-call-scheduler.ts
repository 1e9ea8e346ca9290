/**
 * When a slow call may be made, so that it never makes a fast pass wait: not when it would run into the next pass, and at
 * most one between two passes where they follow closely. Pure: times come in as arguments.
 */

/** With passes this close together one call between two of them is all there is room for. */
const closeTogetherMs = 200;
/** Otherwise this much rest between two calls, so that the slow ones of many GPUs do not come in one heap. */
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
    // The middle one of three: a late pass, or an extra one at the start, does not predict the next.
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

  /** How long to wait before a call that is due at `dueMs` and takes `costMs`; 0 is now. */
  waitMs(nowMs: number, dueMs: number, costMs: number): number {
    const startMs = Math.max(nowMs, dueMs, this.#lastCallMs + restMs);
    const nextPassMs = this.#lastPassMs + this.#intervalMs;
    // No passes yet, or no longer: there is none to keep clear of.
    if (!Number.isFinite(nextPassMs) || nowMs > nextPassMs + this.#intervalMs)
      return startMs - nowMs;
    // The next pass makes room again; it may be a little late.
    if (this.#intervalMs <= closeTogetherMs && this.#callsSincePass > 0)
      return Math.max(nextPassMs + 1 - nowMs, lateMs);
    const meetsPass = startMs < nextPassMs && startMs + costMs + marginMs > nextPassMs;
    // A call longer than the whole gap is made right after a pass: it delays one, not every one.
    const neverFits = costMs + marginMs >= this.#intervalMs && this.#callsSincePass === 0;
    if (meetsPass && !neverFits) return nextPassMs + 1 - nowMs;
    return startMs - nowMs;
  }
}
