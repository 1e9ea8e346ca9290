/**
 * A recorded source given again at the pace it was recorded at, faster, slower, or as fast as it is taken; once, or round and
 * round. Everything is due at a time reckoned from the start, so that an error never adds up.
 */
import { pause } from "../../base/retry.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Emit, StreamFrameInfo, StreamingSource } from "../../sources/source.ts";
import type { Clock } from "../../base/clock.ts";

/** A moment of the recording: by its time, or by how long after its first frame. */
export interface ReplayBound {
  readonly kind: "time" | "offset";
  readonly ms: number;
}

export interface PaceOptions {
  /** Called once a round, counted from 0. */
  readonly open: (round: number) => Promise<StreamingSource>;
  /** 2 is twice as fast; Infinity waits for nothing. */
  readonly speed: number;
  readonly loop: boolean;
  /** Times become those at which frames are given; as they were recorded where false. */
  readonly now: boolean;
  /** From this on, and before that. */
  readonly start?: ReplayBound;
  readonly end?: ReplayBound;
  readonly clock: Clock;
}

export interface PaceState {
  round: number;
  frames: number;
  skipped: number;
  /** How much recorded time has been given, all rounds together. */
  givenMs: number;
  /** How much of it a round has, once one is over. */
  roundMs?: number;
  /** The newest frame's time as it was given. */
  timeMs?: number;
  behindMs: number;
}

const longestWaitMs = 3_600_000;
const mostGaps = 1_001;
const spacingOfOne = 1_000;

export class PacedSource implements StreamingSource {
  readonly shape = "streaming";
  readonly state: PaceState = { round: 0, frames: 0, skipped: 0, givenMs: 0, behindMs: 0 };
  readonly #options: PaceOptions;
  readonly #gaps: number[] = [];
  #source: StreamingSource | undefined;
  /** Of the recording. */
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  /** Of what is given: where it began, on each clock. */
  #began:
    | { readonly timeMs: number; readonly wallMs: number; readonly monotonicMs: number }
    | undefined;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  devices(): readonly Device[] {
    return this.#source?.devices() ?? [];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    for (let round = 0; !signal.aborted; round++) {
      const before = this.state.frames;
      const beganMs = this.state.givenMs;
      this.state.round = round;
      this.#lastMs = undefined;
      this.#source = await this.#options.open(round);
      try {
        await this.#source.run((frame, about) => this.#give(frame, about, emit, signal), signal);
      } finally {
        await this.#source.close();
      }
      this.state.roundMs = this.state.givenMs - beganMs;
      // A round that gave nothing would go round for ever without ever giving anything.
      if (!this.#options.loop || this.state.frames === before) return;
    }
  }

  close(): void {}

  async #give(
    frame: Frame,
    about: StreamFrameInfo | undefined,
    emit: Emit,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    const recordedMs = frame.timeMs;
    this.#firstMs ??= recordedMs;
    if (signal.aborted || !this.#isWithin(recordedMs)) {
      this.state.skipped++;
      return;
    }
    this.#began ??= {
      timeMs: recordedMs,
      wallMs: clock.nowMs(),
      monotonicMs: clock.monotonicMs(),
    };
    this.#advance(recordedMs);
    await this.#wait(signal);
    if (signal.aborted) return;
    const timeMs = this.#timeOf(recordedMs);
    this.state.timeMs = timeMs;
    await emit(timeMs === recordedMs ? frame : { ...frame, timeMs }, about);
    // The first frame warms everything up, which may take longer than a gap is allowed to be wrong: the pace begins behind it.
    if (this.state.frames === 0) this.#began = { ...this.#began, monotonicMs: clock.monotonicMs() };
    this.state.frames++;
  }

  /** A clock that was set back, or a new round, goes on with the usual spacing: time given never goes back. */
  #advance(recordedMs: number): void {
    const lastMs = this.#lastMs;
    this.#lastMs = recordedMs;
    if (lastMs === undefined) {
      if (this.state.frames > 0) this.state.givenMs += this.#spacing();
      return;
    }
    const gapMs = recordedMs - lastMs;
    if (gapMs > 0 && this.#gaps.length < mostGaps) this.#gaps.push(gapMs);
    this.state.givenMs += gapMs < 0 ? this.#spacing() : gapMs;
  }

  #spacing(): number {
    const sorted = this.#gaps.toSorted((left, right) => left - right);
    return sorted[sorted.length >> 1] ?? spacingOfOne;
  }

  #timeOf(recordedMs: number): number {
    const { loop, now, speed } = this.#options;
    const { givenMs } = this.state;
    if (this.#began === undefined) throw new Error("BUG: a frame is given before the first");
    if (now) return Math.round(this.#began.wallMs + givenMs / speed);
    return loop ? this.#began.timeMs + givenMs : recordedMs;
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { clock, speed } = this.#options;
    if (speed === Infinity) return;
    const dueMs = (this.#began?.monotonicMs ?? 0) + this.state.givenMs / speed;
    for (;;) {
      const leftMs = dueMs - clock.monotonicMs();
      this.state.behindMs = Math.max(0, -leftMs);
      // Half a millisecond is nearer to now than to the next turn of a timer.
      if (leftMs < 0.5 || signal.aborted) return;
      await pause(Math.min(longestWaitMs, leftMs), signal, clock);
    }
  }

  #isWithin(recordedMs: number): boolean {
    const { start, end } = this.#options;
    const at = ({ kind, ms }: ReplayBound): number =>
      kind === "time" ? ms : (this.#firstMs ?? 0) + ms;
    return (
      (start === undefined || recordedMs >= at(start)) &&
      (end === undefined || recordedMs < at(end))
    );
  }
}
