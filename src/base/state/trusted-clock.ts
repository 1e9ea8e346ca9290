/**
 * The time that deletions may rely on. It advances with the monotonic clock, in small steps, and never follows a wall clock
 * that jumped: one wrong setting of the clock must not make the history look old.
 *
 * A wall clock that is ahead (the machine was off or suspended, or its clock was set) is approached at twice the pace of
 * time, and adopted once it has run steadily for a day.
 */

/** The most that one observation adds: the monotonic clock of a suspended or emulated machine may jump as well. */
const longestStepMs = 60_000;
/** Wall and monotonic clock move apart by less than this between two observations, unless one of them was set. */
const steadyMs = 2_000;
const adoptAfterMs = 24 * 3_600_000;
/** A jump worth reporting. */
const largeJumpMs = 3_600_000;

export interface TrustedClockOptions {
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** The trusted time of the last run, or another time known to have passed; undefined uses the wall clock. */
  readonly startMs: number | undefined;
}

export class TrustedClock {
  readonly #options: TrustedClockOptions;
  #trustedMs: number;
  #monotonicMs: number;
  #offsetMs: number;
  #steadyForMs = 0;
  #hasJumped = false;

  constructor(options: TrustedClockOptions) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs();
    const wallMs = options.nowMs();
    this.#trustedMs = Math.min(wallMs, options.startMs ?? wallMs);
    this.#offsetMs = wallMs - this.#monotonicMs;
  }

  /** Never later than the wall clock. Call it at least once a minute: longer gaps count as one minute. */
  nowMs(): number {
    const wallMs = this.#observe();
    return Math.min(wallMs, this.#trustedMs);
  }

  /** Difference between the wall clock and the trusted time, from a jump of over an hour until the two agree again. */
  get jumpMs(): number | undefined {
    const wallMs = this.#observe();
    return this.#hasJumped ? wallMs - this.#trustedMs : undefined;
  }

  #observe(): number {
    const monotonicMs = this.#options.monotonicMs();
    const wallMs = this.#options.nowMs();
    const elapsedMs = Math.min(longestStepMs, Math.max(0, monotonicMs - this.#monotonicMs));
    const shiftMs = Math.abs(wallMs - monotonicMs - this.#offsetMs);
    this.#monotonicMs = monotonicMs;
    this.#offsetMs = wallMs - monotonicMs;
    this.#steadyForMs = shiftMs > steadyMs ? 0 : this.#steadyForMs + elapsedMs;
    if (shiftMs > largeJumpMs) this.#hasJumped = true;
    const nextMs = this.#trustedMs + elapsedMs;
    this.#trustedMs = wallMs > nextMs ? Math.min(wallMs, nextMs + elapsedMs) : nextMs;
    if (this.#steadyForMs >= adoptAfterMs) this.#trustedMs = wallMs;
    if (Math.abs(wallMs - this.#trustedMs) < largeJumpMs) this.#hasJumped = false;
    return wallMs;
  }
}
