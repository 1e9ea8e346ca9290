/**
 * Combines single verdicts into an episode, which begins once the departure has lasted and ends once its absence has. One fault
 * is one anomaly.
 */

/** True: it departs. False: it does not, and a departure would be visible. Undefined: undecidable now (idle, no reading). */
export type DepartureVerdict = boolean | undefined;

export interface EpisodeTimes {
  readonly beginAfterMs: number;
  readonly endAfterMs: number;
}

/** An anomaly that is undecidable for this long is ended. */
const silentMs = 2 * 3_600_000;
/** A departure that lasts a day becomes the new usual: it is reported as ended, and learned. */
const acceptMs = 24 * 3_600_000;

export class Episode {
  readonly #times: EpisodeTimes;
  #badMs = 0;
  #goodMs = 0;
  #quietMs = 0;
  #sinceMs = 0;
  active = false;
  toldMs = 0;

  constructor(times: EpisodeTimes) {
    this.#times = times;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** True if it departs now, reported or not yet. */
  get suspected(): boolean {
    return this.active || this.#badMs > 0;
  }

  /** Adds a verdict over the last `spanMs` and returns the change, if any. */
  look(timeMs: number, spanMs: number, verdict: DepartureVerdict): "began" | "ended" | undefined {
    if (verdict === undefined) {
      this.#quietMs += spanMs;
      if (this.active) return this.#quietMs >= silentMs ? this.end() : this.#accept(timeMs);
      if (this.#quietMs >= silentMs) this.#badMs = 0;
      return undefined;
    }
    this.#quietMs = 0;
    if (verdict) {
      this.#goodMs = 0;
      if (this.#badMs === 0) this.#sinceMs = timeMs - spanMs;
      this.#badMs += spanMs;
      if (this.active) return this.#accept(timeMs);
      if (this.#badMs < this.#times.beginAfterMs) return undefined;
      this.active = true;
      this.toldMs = timeMs;
      return "began";
    }
    this.#goodMs += spanMs;
    if (!this.active) {
      this.#badMs = Math.max(0, this.#badMs - spanMs);
      return undefined;
    }
    return this.#goodMs >= this.#times.endAfterMs ? this.end() : undefined;
  }

  /** Ends it unconditionally: the GPU or its job has disappeared. */
  end(): "ended" | undefined {
    const was = this.active;
    this.active = false;
    this.#badMs = 0;
    this.#goodMs = 0;
    this.#quietMs = 0;
    return was ? "ended" : undefined;
  }

  #accept(timeMs: number): "ended" | undefined {
    return timeMs - this.toldMs >= acceptMs ? this.end() : undefined;
  }
}
