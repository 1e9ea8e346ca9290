/**
 * Averages the readings of one GPU over ten seconds, so that a stalled step or a rounded degree does not matter. Constant memory.
 */
import type { Readings } from "./readings.ts";

export const blockMs = 10_000;
/** Time constants of the heatsink's thermal memory. */
const memorySeconds = [15, 60, 240] as const;
/** After a gap the earlier power is unknown, and it affects the heatsink's temperature for this long. */
const settleMs = 5 * 60_000;

export interface ReadingBlock {
  readonly endMs: number;
  readonly spanMs: number;
  /** Sampled so rarely, as by a scrape every 15 s, that its means are single instants. */
  readonly isSparse: boolean;
  /** Sampled once. */
  readonly isInstant: boolean;
  readonly powerWatts: number;
  /** Exponentially smoothed power with time constants of 15, 60 and 240 s, as the heatsink stores it. */
  readonly pastWatts: readonly [number, number, number];
  /** True if that smoothing covers enough time since the last gap. */
  readonly settled: boolean;
  readonly utilization: number | undefined;
  readonly peakUtilization: number;
  readonly memoryUtilization: number | undefined;
  /** The hotspot if reported, else the edge. */
  readonly celsius: number | undefined;
  readonly fanRatio: number | undefined;
  /** Highest clock of the samples that no limit throttled. */
  readonly freeHertz: number | undefined;
  /** Mean clock while the GPU was busy. */
  readonly busyHertz: number | undefined;
  readonly heldByHeat: boolean;
  readonly memoryBytes: number | undefined;
  readonly owner: string | undefined;
  /** True if one owner had the GPU throughout, excluding its first half minute. */
  readonly steadyOwner: boolean;
}

class Mean {
  sum = 0;
  count = 0;

  add(value: number | undefined): void {
    if (value === undefined) return;
    this.sum += value;
    this.count += 1;
  }

  take(): number | undefined {
    const mean = this.count === 0 ? undefined : this.sum / this.count;
    this.sum = 0;
    this.count = 0;
    return mean;
  }
}

const startupMs = 30_000;
const busyFrom = 0.3;
const atCap = 0.85;
/** For single instants of a swinging load, which rarely include its peaks. */
const atCapBySeldom = 0.6;
const seldomMs = 5_000;
/** A swinging load is at its cap in at least one of this many readings. */
const capReadings = 8;
/** Fewer readings do not average out second-to-second changes of the load. */
const leastReadings = 4;

export class ReadingBlocks {
  readonly #past = memorySeconds.map(() => ({ watts: 0, mean: new Mean() }));
  readonly #power = new Mean();
  readonly #utilization = new Mean();
  readonly #memoryUtilization = new Mean();
  readonly #celsius = new Mean();
  readonly #fan = new Mean();
  readonly #busyClock = new Mean();
  readonly #heat = new Mean();
  #startMs = Number.NaN;
  #lastMs = Number.NaN;
  #peak = 0;
  #freeHertz: number | undefined;
  #topHertz: number | undefined;
  /** When the power was last near the limit, and for how long that explains a power cap. */
  #atCapMs = Number.NEGATIVE_INFINITY;
  #capMemoryMs = 0;
  #memoryBytes: number | undefined;
  #owner: string | undefined;
  #ownerSinceMs = Number.NEGATIVE_INFINITY;
  #settledMs = Number.POSITIVE_INFINITY;

  /**
   * Adds an instant and returns the block that it completes, if any.
   * @param limitWatts the power at which a power cap takes effect
   */
  add(timeMs: number, now: Readings, limitWatts: number): ReadingBlock | undefined {
    const gapMs = timeMs - this.#lastMs;
    if (gapMs <= 0) return undefined;
    const watts = now.get("powerWatts");
    if (watts === undefined) return undefined;
    const ended =
      !Number.isNaN(this.#startMs) &&
      Math.floor(timeMs / blockMs) !== Math.floor(this.#startMs / blockMs)
        ? this.#end()
        : undefined;
    if (Number.isNaN(gapMs) || gapMs > 3 * blockMs) this.#begin(timeMs, watts);
    if (ended !== undefined || Number.isNaN(this.#startMs)) this.#startMs = timeMs;
    this.#take(timeMs, watts, Number.isNaN(gapMs) ? 0 : gapMs, now, limitWatts);
    this.#lastMs = timeMs;
    return ended;
  }

  #begin(timeMs: number, watts: number): void {
    for (const past of this.#past) past.watts = watts;
    this.#settledMs = timeMs + settleMs;
    this.#owner = undefined;
    this.#ownerSinceMs = timeMs;
  }

  #take(timeMs: number, watts: number, gapMs: number, now: Readings, limitWatts: number): void {
    this.#power.add(watts);
    memorySeconds.forEach((seconds, at) => {
      const past = this.#past[at];
      if (past === undefined) return;
      past.watts += (watts - past.watts) * (1 - Math.exp(-gapMs / 1_000 / seconds));
      past.mean.add(past.watts);
    });
    const utilization = now.get("utilization");
    this.#utilization.add(utilization);
    this.#peak = Math.max(this.#peak, utilization ?? 0);
    this.#memoryUtilization.add(now.get("memoryUtilization"));
    this.#celsius.add(now.get("hotspotCelsius") ?? now.get("edgeCelsius"));
    this.#fan.add(now.get("fanRatio"));
    this.#heat.add(now.get("heatThrottled") ?? 0);
    const isNear = gapMs > seldomMs ? atCapBySeldom : atCap;
    const isAtCap = watts > isNear * limitWatts;
    if (isAtCap) this.#atCapMs = timeMs;
    this.#capMemoryMs = Math.min(3 * blockMs, gapMs) * capReadings;
    // If power caps are not reported, power near the limit counts as capped.
    const capped = now.get("powerCapped") ?? Number(isAtCap);
    // NVIDIA derives both from one clock, and dcgm-exporter reports only the SM clock.
    const hertz = now.get("clockHertz") ?? now.get("smHertz");
    this.#clock(hertz, utilization ?? 0, capped > 0);
    this.#memoryBytes = now.get("memoryBytes");
    if (now.owner !== this.#owner) {
      this.#owner = now.owner;
      this.#ownerSinceMs = timeMs;
    }
  }

  #clock(hertz: number | undefined, utilization: number, capped: boolean): void {
    if (hertz === undefined || utilization < busyFrom) return;
    this.#busyClock.add(hertz);
    this.#topHertz = Math.max(this.#topHertz ?? 0, hertz);
    if (!capped) this.#freeHertz = Math.max(this.#freeHertz ?? 0, hertz);
  }

  #end(): ReadingBlock {
    const endMs = this.#lastMs;
    const isAtCap = this.#atCapMs >= Math.min(this.#startMs, endMs - this.#capMemoryMs);
    const readings = this.#power.count;
    const [fast, middle, slow] = this.#past;
    const block: ReadingBlock = {
      endMs,
      spanMs: blockMs,
      isSparse: readings < leastReadings,
      isInstant: readings === 1,
      powerWatts: this.#power.take() ?? 0,
      pastWatts: [fast?.mean.take() ?? 0, middle?.mean.take() ?? 0, slow?.mean.take() ?? 0],
      settled: this.#startMs >= this.#settledMs,
      utilization: this.#utilization.take(),
      peakUtilization: this.#peak,
      memoryUtilization: this.#memoryUtilization.take(),
      celsius: this.#celsius.take(),
      fanRatio: this.#fan.take(),
      // A power cap that is reported far below the limit does not throttle the clock.
      freeHertz: isAtCap ? this.#freeHertz : this.#topHertz,
      busyHertz: this.#busyClock.take(),
      heldByHeat: (this.#heat.take() ?? 0) > 0,
      memoryBytes: this.#memoryBytes,
      owner: this.#owner,
      steadyOwner: this.#owner !== undefined && this.#startMs - this.#ownerSinceMs >= startupMs,
    };
    this.#peak = 0;
    this.#freeHertz = undefined;
    this.#topHertz = undefined;
    return block;
  }
}
