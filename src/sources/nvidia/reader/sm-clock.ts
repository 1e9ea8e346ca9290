/**
 * The mean SM clock between two GPM samples, for FLOP/s estimates: GPM reports shares of the cycles in that time. Under bursts of
 * 70 ms an H200's clock swings between 1,515 and 1,950 MHz, so one reading a second is up to 13 % off. A busy GPU's clock is read
 * five times a second (1.3 µs a call; each wake-up per second costs 0.017 % of a core), an idle one's with the fast pass.
 */
import { presence } from "../../../model/presence.ts";
import { code } from "../nvml/codes.ts";
import type { CardBuilder } from "./card.ts";
import type { Task } from "./task.ts";

/** Interval of clock readings while a GPU is busy. */
export const clockEveryMs = 200;
/** A gap longer than this is left out of the mean: the GPU was asleep or lost. */
const longestGapMs = 60_000;

/**
 * The time of the next clock reading: a random instant of the next interval. Readings at a fixed rate would hit the same phase of
 * bursty work again and again; random ones hit each phase equally. `random` is from 0 to 1.
 */
export function nextClockReadMs(nowMs: number, random: number): number {
  return Math.floor((Math.floor(nowMs / clockEveryMs) + 1 + random) * clockEveryMs);
}

/** A time-weighted mean: each reading counts for the time since the previous one. Pure. */
export class TimeMean {
  #integral = 0;
  #coveredMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #last: number | undefined;

  add(value: number, nowMs: number): void {
    const gapMs = nowMs - this.#lastMs;
    if (gapMs > 0 && gapMs <= longestGapMs) {
      this.#integral += value * gapMs;
      this.#coveredMs += gapMs;
    }
    this.#lastMs = nowMs;
    this.#last = value;
  }

  /** Returns the mean since the last call, or the last reading if no time has passed; undefined if there was no reading. */
  finish(): number | undefined {
    const mean = this.#coveredMs > 0 ? this.#integral / this.#coveredMs : this.#last;
    this.#integral = this.#coveredMs = 0;
    this.#last = undefined;
    return mean;
  }
}

export class SmClock {
  readonly #bench: CardBuilder;
  readonly #task: Task | undefined;
  readonly #fastSlot: number;
  readonly #meanSlot: number;
  readonly #mean = new TimeMean();
  /** True if GPM samples of this card are read; only they use the mean. */
  isUsed = false;

  constructor(bench: CardBuilder) {
    this.#bench = bench;
    this.#task = bench.card.fast.find(({ name }) => name === "clock sm");
    this.#fastSlot = bench.boards.fast.series.findIndex(
      ({ metric, device, labels }) =>
        metric === "clock" && device === bench.card.at && labels?.["domain"] === "sm",
    );
    this.#meanSlot = bench.slot("slow", ["clockMean", { domain: "sm" }]);
  }

  /** True if a reading between two fast passes adds information. If the call is costly, it is not in the fast pass. */
  get wantsSamples(): boolean {
    const { fast, utilizationRatio, lostSinceMs } = this.#bench.card;
    if (!this.isUsed || lostSinceMs !== undefined || !utilizationRatio) return false;
    return this.#task !== undefined && fast.includes(this.#task);
  }

  /** Reads the clock now. Returns NVML's code. */
  sample(nowMs: number): number {
    const got = this.#task?.run(nowMs) ?? code.notSupported;
    this.note(nowMs);
    return got;
  }

  /** Adds the clock that a fast pass has just read. */
  note(nowMs: number): void {
    const hertz = this.#bench.boards.fast.value(this.#fastSlot);
    if (hertz !== undefined) this.#mean.add(hertz, nowMs);
  }

  /** Stores the mean since the previous GPM sample. */
  store(nowMs: number): void {
    this.note(nowMs);
    const mean = this.#mean.finish();
    const { slow } = this.#bench.boards;
    if (mean === undefined) slow.absent(this.#meanSlot, presence.unsupported, nowMs);
    else slow.set(this.#meanSlot, mean, nowMs);
  }

  /** Marks the mean absent, since there is no GPM sample. */
  leaveOut(why: number, nowMs: number): void {
    this.#bench.boards.slow.absent(this.#meanSlot, why, nowMs);
  }
}
