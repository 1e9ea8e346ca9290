/** Virtual time: where a simulation stands at an instant of the wall clock, and back. */

/**
 * Between two reads the wall clock moves less than this, unless it was set: then the simulation goes on from where it stands. It
 * would run through days in one read, or stand still until the clock is there again.
 */
const longestStepMs = 86_400_000;
const longestStepBackMs = 60_000;

export class VirtualTime {
  readonly #startMs: number;
  readonly #speed: number;
  #originMs: number;
  #readMs: number;

  /** Begins on the whole second, so that two runs polled on whole seconds stand at the same virtual times. */
  constructor(startMs: number, createdMs: number, speed: number) {
    this.#startMs = startMs;
    this.#speed = speed;
    this.#originMs = Math.floor(createdMs / 1_000) * 1_000;
    this.#readMs = createdMs;
  }

  /** To be called with the time of each read. */
  follow(wallMs: number): void {
    const stepMs = wallMs - this.#readMs;
    if (stepMs > longestStepMs || stepMs < -longestStepBackMs) this.#originMs += stepMs;
    this.#readMs = wallMs;
  }

  /** Virtual milliseconds since the start. */
  elapsedMs(wallMs: number): number {
    return Math.max(0, (wallMs - this.#originMs) * this.#speed);
  }

  /** The frame's time for a virtual date. */
  frameMs(virtualMs: number): number {
    return this.#originMs + (virtualMs - this.#startMs) / this.#speed;
  }
}
