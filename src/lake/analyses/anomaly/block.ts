/** Ten seconds of one GPU as means: long enough that a stalled step or a rounded degree is no news. Constant memory. */
import type { Readings } from "./readings.ts";

export const blockMs = 10_000;
/** Time constants of the power a heatsink remembers. */
const memorySeconds = [15, 60, 240] as const;
/** After a gap nobody knows what the card did, and its heatsink remembers it for this long. */
const settleMs = 5 * 60_000;

export interface ReadingBlock {
  readonly endMs: number;
  readonly spanMs: number;
  /** Read so seldom, as by a scrape every 15 s, that its means are single instants. */
  readonly isSparse: boolean;
  /** Read once. */
  readonly isInstant: boolean;
  readonly powerWatts: number;
  /** Power as the heatsink remembers it: over 15, 60 and 240 s. */
  readonly pastWatts: readonly [number, number, number];
  /** Whether that memory reaches back far enough to be believed. */
  readonly settled: boolean;
  readonly utilization: number | undefined;
  readonly peakUtilization: number;
  readonly memoryUtilization: number | undefined;
  /** The hotspot where reported, else the edge. */
  readonly celsius: number | undefined;
  readonly fanRatio: number | undefined;
  /** Highest clock of the samples that no limit held down. */
  readonly freeHertz: number | undefined;
  /** Mean clock while it had work. */
  readonly busyHertz: number | undefined;
  readonly heldByHeat: boolean;
  readonly memoryBytes: number | undefined;
  readonly owner: string | undefined;
  /** One owner throughout, none of it in its first half minute. */
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
/** Single instants of a power that swings: its peaks are hardly ever among them. */
const atCapBySeldom = 0.6;
const seldomMs = 5_000;
/** A power that swings is at its cap in one of so many readings. */
const capReadings = 8;
/** Fewer readings do not average out what a load does from second to second. */
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
  /** When it last drew about its limit, and for how long that explains a cap. */
  #atCapMs = Number.NEGATIVE_INFINITY;
  #capMemoryMs = 0;
  #memoryBytes: number | undefined;
  #owner: string | undefined;
  #ownerSinceMs = Number.NEGATIVE_INFINITY;
  #settledMs = Number.POSITIVE_INFINITY;

  /**
   * Takes the instant in; gives the block that it ends, if it ends one.
   * @param limitWatts what a power cap would hold it to
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
    // Without a word about caps, a power near the limit is one.
    const capped = now.get("powerCapped") ?? Number(isAtCap);
    // NVIDIA runs both from one clock, and dcgm-exporter reports that of the SMs alone.
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
      // A power cap reported far below the limit does not hold the clock down.
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
