/**
 * Power and energy from an Intel GPU's energy counters. A card has one for the board (`card`), one for the chip (`pkg`) or both,
 * and a counter may exist without counting: the B580's `card` counter does not move under kernel 6.16. The growth of a counter
 * that jumped or was reset is never reported as power. Pure: counters in, readings out.
 */
import { failed, present, type ReadResult } from "../../machine/sysfs/read-result.ts";

export const energyScopes = ["board", "chip"] as const;
export type EnergyScope = (typeof energyScopes)[number];

/** Above any Intel board: the Data Center GPU Max 1550 is rated 600 W. Faster growth is a jump of the counter. */
const mostWatts = 1_000;

/** If the chip's counter has grown by this much, the board's must have grown too, however rarely it is refreshed. */
const decisiveJoules = 5;

interface Meter {
  timeMs: number;
  /** The driver's value. */
  joules: number;
  /** Sum of implausible jumps, subtracted from the reported energy. */
  skippedJoules: number;
  /** Plausible growth since the first read. */
  countedJoules: number;
  /** Growth since the previous read; undefined after the first read, a jump or a reset. */
  grewJoules: number | undefined;
  watts: ReadResult<number>;
}

/** The counters of one card. They outlive the channels, which are discovered again every minute. */
export class EnergyMeters {
  readonly #meters = new Map<EnergyScope, Meter>();
  #timeMs = Number.NaN;
  #scope: EnergyScope | undefined;

  /** Updates all counters, in joules. A counter that could not be read keeps its last value. */
  update(timeMs: number, counters: ReadonlyMap<EnergyScope, ReadResult<number>>): void {
    if (timeMs === this.#timeMs) return;
    this.#timeMs = timeMs;
    for (const scope of energyScopes) {
      const reading = counters.get(scope);
      if (reading === undefined) this.#meters.delete(scope);
      else this.#updateMeter(scope, timeMs, reading);
    }
    this.#scope = this.#choose(counters);
  }

  watts(scope: EnergyScope): ReadResult<number> {
    const meter = this.#meters.get(scope);
    return meter === undefined || this.#stands(scope) ? failed : meter.watts;
  }

  /** The energy of the selected counter. */
  joules(): ReadResult<number> {
    const scope = this.#scope;
    const meter = scope === undefined ? undefined : this.#meters.get(scope);
    if (scope === undefined || meter?.timeMs !== this.#timeMs || this.#stands(scope)) return failed;
    return present(meter.joules - meter.skippedJoules);
  }

  /** The counter the energy comes from; undefined until one of two has grown. */
  get scope(): EnergyScope | undefined {
    return this.#scope;
  }

  /** The selection stays while its counter exists: another counter's total would look like a jump of the energy. */
  #choose(counters: ReadonlyMap<EnergyScope, ReadResult<number>>): EnergyScope | undefined {
    if (this.#scope !== undefined && counters.has(this.#scope)) return this.#scope;
    const there = energyScopes.filter((scope) => {
      const reading = counters.get(scope);
      return reading !== undefined && (reading.ok || reading.reason !== "unsupported");
    });
    if (there.length < 2) return there[0];
    if ((this.#meters.get("board")?.countedJoules ?? 0) > 0) return "board";
    const isDecided = (this.#meters.get("chip")?.countedJoules ?? 0) >= decisiveJoules;
    return isDecided && this.#meters.has("board") ? "chip" : undefined;
  }

  /** True if the board's counter did not grow while the chip's did: it does not count. */
  #stands(scope: EnergyScope): boolean {
    const grew = this.#meters.get("board")?.grewJoules;
    const chipGrew = this.#meters.get("chip")?.grewJoules;
    return scope === "board" && grew === 0 && chipGrew !== undefined && chipGrew > 0;
  }

  #updateMeter(scope: EnergyScope, timeMs: number, reading: ReadResult<number>): void {
    const last = this.#meters.get(scope);
    if (!reading.ok) {
      if (last === undefined) return;
      this.#meters.set(scope, { ...last, grewJoules: undefined, watts: reading });
      return;
    }
    const joules = reading.value;
    const grew = last === undefined ? undefined : joules - last.joules;
    const seconds = last === undefined ? 0 : (timeMs - last.timeMs) / 1_000;
    const isReset = grew === undefined || grew < 0;
    const isJump = !isReset && grew > mostWatts * Math.max(seconds, 0);
    const counted = isReset || isJump ? undefined : grew;
    this.#meters.set(scope, {
      timeMs,
      joules,
      skippedJoules: isReset ? 0 : (last?.skippedJoules ?? 0) + (isJump ? grew : 0),
      countedJoules: (last?.countedJoules ?? 0) + (counted ?? 0),
      grewJoules: counted,
      watts: counted !== undefined && seconds > 0 ? present(counted / seconds) : failed,
    });
  }
}
