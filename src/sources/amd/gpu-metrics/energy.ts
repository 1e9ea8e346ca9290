/**
 * Determines the size of one step of the energy counter. MI100 and newer Instinct count 15.259 µJ (2^-16 J). Radeon firmware does
 * not report it: two RX 6000 dumps fit 1 mJ. The two differ by a factor of 65, so the card's own power decides: counted steps are
 * compared with watts integrated over the same time. Until then there is no reading, never a guess.
 */
export const joulesPerStep = { instinct: 2 ** -16, radeon: 0.001 } as const;

/** Enough energy that noise of the power reading cannot change the ratio by a factor of four. */
const enoughJoules = 50;
const tolerance = 4;

export class EnergyStep {
  #joulesPerStep: number | undefined;
  #last: { timeMs: number; steps: number; watts: number } | undefined;
  #joules = 0;
  #steps = 0;

  constructor(known?: number) {
    this.#joulesPerStep = known;
  }

  /** The counter in joules; undefined while the size of a step is unknown. */
  read(timeMs: number, steps: number, watts: number | undefined): number | undefined {
    if (this.#joulesPerStep === undefined && watts !== undefined) this.#weigh(timeMs, steps, watts);
    return this.#joulesPerStep === undefined ? undefined : steps * this.#joulesPerStep;
  }

  #weigh(timeMs: number, steps: number, watts: number): void {
    const last = this.#last;
    this.#last = { timeMs, steps, watts };
    if (last === undefined || steps < last.steps || timeMs <= last.timeMs) return;
    this.#steps += steps - last.steps;
    this.#joules += (((watts + last.watts) / 2) * (timeMs - last.timeMs)) / 1_000;
    if (this.#joules < enoughJoules || this.#steps === 0) return;
    const measured = this.#joules / this.#steps;
    this.#joulesPerStep = Object.values(joulesPerStep).find(
      (known) => measured > known / tolerance && measured < known * tolerance,
    );
    this.#joules = 0;
    this.#steps = 0;
  }
}
