/** Integrates power over time into joules, per device. A gap is not bridged: power nobody saw is not counted. */

interface EnergyState {
  timeMs: number;
  watts: number;
  joules: number;
}

export class EnergyIntegral {
  readonly #running = new Map<string, EnergyState>();

  /** The energy so far, the new reading included (trapezoids between neighbouring readings). */
  add(device: string, timeMs: number, watts: number, longestGapMs: number): number {
    const state = this.#running.get(device);
    if (state === undefined) {
      this.#running.set(device, { timeMs, watts, joules: 0 });
      return 0;
    }
    const gapMs = timeMs - state.timeMs;
    if (gapMs > 0 && gapMs <= longestGapMs)
      state.joules += ((state.watts + watts) / 2) * (gapMs / 1_000);
    // A clock set back starts a new stretch; the counter itself never falls.
    state.timeMs = timeMs;
    state.watts = watts;
    return state.joules;
  }
}
