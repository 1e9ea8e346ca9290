/**
 * The mean SM clock between two GPM samples, for FLOP/s estimates: GPM gives shares of the cycles of all that time. Under bursts
 * of 70 ms an H200's clock swings between 1,515 and 1,950 MHz, so one look a second is up to 13 % off. A busy GPU's clock is read
 * five times a second (1.3 µs a call; each wake-up a second costs 0.017 % of a core), an idle one's with the fast pass.
 */
import { presence } from "../../../model/presence.ts";
import { code } from "../nvml/codes.ts";
import type { CardBuilder } from "./card.ts";
import type { Task } from "./task.ts";

/** While a GPU is busy. */
export const clockEveryMs = 200;
/** Nothing is known of the clock over a longer gap between two readings: the GPU was asleep or lost. */
const longestGapMs = 60_000;

/**
 * When the clock is read next: at a random instant of the next interval. Readings at a fixed rate meet the same part of work that
 * comes in bursts again and again; these meet each part alike. `random` is from 0 to 1.
 */
export function nextClockReadMs(nowMs: number, random: number): number {
  return Math.floor((Math.floor(nowMs / clockEveryMs) + 1 + random) * clockEveryMs);
}

/** A mean over time: each reading stands for the time since the one before. Pure. */
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

  /** The mean since the last call, or the last reading where no time has passed; undefined where there was none. */
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
  /** Whether GPM samples are read of this card: the mean is for them alone. */
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

  /** Whether a reading between two fast passes adds information. Where the call is costly, it is not among the fast ones. */
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

  /** Takes what a fast pass has just read. */
  note(nowMs: number): void {
    const hertz = this.#bench.boards.fast.value(this.#fastSlot);
    if (hertz !== undefined) this.#mean.add(hertz, nowMs);
  }

  /** Stores the mean since the GPM sample before. */
  store(nowMs: number): void {
    this.note(nowMs);
    const mean = this.#mean.finish();
    const { slow } = this.#bench.boards;
    if (mean === undefined) slow.absent(this.#meanSlot, presence.unsupported, nowMs);
    else slow.set(this.#meanSlot, mean, nowMs);
  }

  /** No GPM sample, no mean. */
  leaveOut(why: number, nowMs: number): void {
    this.#bench.boards.slow.absent(this.#meanSlot, why, nowMs);
  }
}
