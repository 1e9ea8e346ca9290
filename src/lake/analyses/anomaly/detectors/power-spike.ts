/**
 * Detects power far above that of the last minute although the load did not rise, or above the limit. Checks every instant, since
 * spikes are short.
 */
import { gpu } from "../../../../model/catalogue/index.ts";
import type { Readings } from "../readings.ts";
import { Spread } from "../statistics/spread.ts";
import {
  type Detection,
  type DetectorContext,
  digits,
  normalDetection,
  selector,
  undecidedDetection,
} from "./detector.ts";

/** Reported power is averaged over a second or two, so a load change within this time explains it. */
const recentMs = 5_000;
const stretchMs = 5_000;
const steadyMs = 15_000;
const stretches = 13;
const leastStretches = 7;
const leastShare = 0.3;
const sigmasOff = 8;
const sameUtilization = 0.05;
const overLimit = 1.15;

/** Maxima over a few seconds: a spike exceeds the maximum of a whole minute. */
interface Stretch {
  readonly startMs: number;
  watts: number;
  utilization: number;
  leastUtilization: number;
  leastTraffic: number;
  mostTraffic: number;
}

export class PowerSpikeDetector {
  readonly kind = "power_spike";
  readonly times = { beginAfterMs: 3_000, endAfterMs: 60_000 };
  /** How much the maximum of one stretch usually exceeds that of the minute before. */
  readonly #passes = new Spread(2);
  #past: Stretch[] = [];
  #owner: string | undefined;
  #fromWatts = 0;

  see(timeMs: number, now: Readings, around: DetectorContext, suspected: boolean): Detection {
    const [watts, utilization] = [now.get("powerWatts"), now.get("utilization")];
    if (watts === undefined || utilization === undefined || now.owner !== this.#owner) {
      this.#owner = now.owner;
      this.restart();
      return undecidedDetection;
    }
    const traffic = now.get("memoryUtilization") ?? 0;
    const before = this.#most(timeMs - recentMs);
    this.#keep({
      startMs: timeMs,
      watts,
      utilization,
      leastUtilization: utilization,
      leastTraffic: traffic,
      mostTraffic: traffic,
    });
    const limitWatts = now.get("powerLimitWatts");
    if (limitWatts !== undefined && watts > overLimit * limitWatts)
      return this.#found(watts, limitWatts, "its limit allows", around);
    const least = Math.max(leastShare * around.scaleWatts, sigmasOff * this.#passes.sigma);
    if (suspected) {
      if (watts - this.#fromWatts <= least / 2) return normalDetection;
      return this.#found(watts, this.#fromWatts, "in the minute before", around);
    }
    if (before === undefined) return undecidedDetection;
    const more = watts - before.watts;
    this.#passes.add(more);
    // The same utilization with different memory traffic is different work, which draws different power.
    const isOtherWork =
      this.#leastOf(timeMs - steadyMs) < utilization - 2 * sameUtilization ||
      utilization > before.utilization + sameUtilization ||
      traffic > before.mostTraffic + sameUtilization ||
      traffic < before.leastTraffic - sameUtilization;
    if (more < least || isOtherWork) return normalDetection;
    this.#fromWatts = before.watts;
    return this.#found(watts, before.watts, "in the minute before", around);
  }

  restart(): void {
    this.#past = [];
  }

  #keep(now: Stretch): void {
    const last = this.#past.at(-1);
    if (last !== undefined && now.startMs - last.startMs < stretchMs) {
      join(last, now);
      return;
    }
    this.#past.push(now);
    if (this.#past.length > stretches) this.#past.shift();
  }

  /** The lowest utilisation since `fromMs`: work that has just started explains the power. */
  #leastOf(fromMs: number): number {
    let least = 1;
    for (const one of this.#past)
      if (one.startMs >= fromMs) least = Math.min(least, one.leastUtilization);
    return least;
  }

  /** Joins all stretches that ended by `untilMs`; undefined if there are too few. */
  #most(untilMs: number): Stretch | undefined {
    let all: Stretch | undefined;
    let count = 0;
    for (const one of this.#past) {
      if (one.startMs + stretchMs > untilMs) break;
      if (all === undefined) all = { ...one };
      else join(all, one);
      count += 1;
    }
    return count < leastStretches ? undefined : all;
  }

  #found(watts: number, expected: number, than: string, { device }: DetectorContext): Detection {
    const sigmas = (watts - expected) / this.#passes.sigma;
    return {
      verdict: true,
      evidence: () => ({
        seen: watts,
        expected,
        unit: "watts",
        sigmas,
        says: `${digits(watts)} W, ${digits(watts - expected)} W more than ${than} (${digits(expected)} W), while its utilisation was no higher: ${digits(sigmas)} sigmas.`,
        series: [selector(gpu.power.name, device), selector(gpu.utilization.name, device)],
      }),
    };
  }
}

function join(into: Stretch, other: Stretch): void {
  into.watts = Math.max(into.watts, other.watts);
  into.utilization = Math.max(into.utilization, other.utilization);
  into.leastUtilization = Math.min(into.leastUtilization, other.leastUtilization);
  into.leastTraffic = Math.min(into.leastTraffic, other.leastTraffic);
  into.mostTraffic = Math.max(into.mostTraffic, other.mostTraffic);
}
