/**
 * Replays a recorded source at its original pace, faster, slower, or as fast as its frames are accepted; once or in a
 * loop. Every frame is due at a time relative to the start, so that errors do not add up.
 */
import { pause } from "../../base/retry.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Emit, StreamFrameInfo, StreamingSource } from "../../sources/source.ts";
import type { Clock } from "../../base/clock.ts";

/** A position in the recording: a timestamp, or an offset from the first frame. */
export interface ReplayBound {
  readonly kind: "time" | "offset";
  readonly ms: number;
}

export interface PaceOptions {
  /** Called once per round; rounds are counted from 0. */
  readonly open: (round: number) => Promise<StreamingSource>;
  /** 2 is twice as fast; Infinity never waits. */
  readonly speed: number;
  readonly loop: boolean;
  /** True to replace each frame's timestamp with the time it is emitted; false to keep the recorded one. */
  readonly now: boolean;
  /** `start` is inclusive, `end` is exclusive. */
  readonly start?: ReplayBound;
  readonly end?: ReplayBound;
  readonly clock: Clock;
}

export interface PaceState {
  round: number;
  frames: number;
  skipped: number;
  /** Recorded time that has been emitted, over all rounds. */
  givenMs: number;
  /** Recorded time in one round, once a round is over. */
  roundMs?: number;
  /** The newest frame's timestamp, as emitted. */
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
  /** Timestamps in the recording. */
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  /** Start of the replay, on each clock. */
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
      // Stops after a round that emitted nothing, which would otherwise loop forever.
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
    // The first frame may be slow to deliver because it warms everything up, so pacing starts after it.
    if (this.state.frames === 0) this.#began = { ...this.#began, monotonicMs: clock.monotonicMs() };
    this.state.frames++;
  }

  /**
   * After a backward clock step in the recording, or at a new round, advances by the usual spacing, so that emitted
   * timestamps never go back.
   */
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
      // Half a millisecond is less than the next timer turn can resolve.
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
