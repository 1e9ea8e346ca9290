/**
 * What becomes of frames whose time the hub does not accept. While the two clocks disagree they are held. Once the clocks agree,
 * frames that this machine stamped while its clock was wrong get their right time; where that is not known they are given up,
 * counted and logged, so that they hold up nothing.
 */
import path from "node:path";
import { formatDuration } from "../../config/duration.ts";
import { type HubClock, isAccepted } from "../../formats/frames/push-response.ts";
import type { PushFrame } from "../../formats/frames/frame.ts";
import type { Log } from "../../base/log.ts";
import { type Clock, readBootId } from "../../base/clock.ts";
import type { SpoolRecord } from "../../pipeline/spool/segment.ts";
import { ClockSteps } from "./clock-steps.ts";

export interface FrameTimesOptions {
  /** The sink's name, for the log. */
  readonly to: string;
  /** Of the spool. */
  readonly folder: string;
  /** Of the spool: what the next frame gets. */
  readonly nextPosition: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a request carries, less what cannot be sent. */
export interface PushBatch {
  readonly frames: readonly PushFrame[];
  readonly lostSamples: number;
  readonly restampedSamples: number;
  /** Why samples are lost, where some are. */
  readonly problem?: string;
}

/** Frames are stamped before they are spooled, give or take the clock's own corrections. */
const stampSlackMs = 1_000;
const logEveryMs = 60_000;

/** Another machine's frames, and those of a stream, were not stamped by this machine's clock. */
export const isStampedHere = ({ host, tier }: Pick<PushFrame, "host" | "tier">): boolean =>
  host === "" && tier !== "stream";

export class FrameTimes {
  readonly #options: FrameTimesOptions;
  readonly #clockSteps: ClockSteps;
  #restampedSamples = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** As it was when the hold began: the log has it once. */
  #because: string | undefined;

  constructor(options: FrameTimesOptions) {
    const { folder, clock, log, nextPosition } = options;
    this.#options = options;
    const file = path.join(folder, "clock-steps.json");
    this.#clockSteps = new ClockSteps({ file, clock, bootId: readBootId(), log }, nextPosition());
  }

  get restampedSamples(): number {
    return this.#restampedSamples;
  }

  get isHeld(): boolean {
    return this.#because !== undefined;
  }

  /** Call it before each append of a frame that is stamped here. */
  observe(): void {
    this.#clockSteps.observe(this.#options.nextPosition());
  }

  /** Where the hub would not accept a frame that is stamped now, all that come are refused as well: the clocks have to agree first. */
  holdBecause(hub: HubClock): string | undefined {
    const nowMs = this.#options.clock.nowMs();
    if (isAccepted(hub, nowMs)) return undefined;
    const aheadMs = nowMs - hub.nowMs;
    const difference = formatDuration(Math.round(Math.abs(aheadMs) / 1_000) * 1_000);
    this.#because ??= `this machine's clock is ${difference} ${aheadMs > 0 ? "ahead of" : "behind"} the hub's (${formatTime(nowMs)} here, ${formatTime(hub.nowMs)} there): frames are held until the clocks agree; set the clock that is wrong`;
    return this.#because;
  }

  /** The clocks agree now: frames that the hub does not accept were stamped before this machine's clock was set. */
  correct(batch: PushBatch, records: readonly SpoolRecord[], hub: HubClock): PushBatch {
    // The clock may have been set since the last frame.
    this.observe();
    const nowMs = this.#options.clock.nowMs();
    const isPlausible = (timeMs: number): boolean =>
      isAccepted(hub, timeMs) && timeMs <= nowMs + stampSlackMs;
    const samples = new Map(records.map((record) => [record.position, record.samples]));
    const frames: PushFrame[] = [];
    let { lostSamples, problem } = batch;
    let restampedSamples = 0;
    for (const frame of batch.frames) {
      if (isAccepted(hub, frame.timeMs)) {
        frames.push(frame);
        continue;
      }
      const { sequence } = frame;
      const timeMs = isStampedHere(frame)
        ? this.#clockSteps.correct(frame.timeMs, sequence, isPlausible)
        : undefined;
      if (timeMs === undefined) {
        lostSamples += samples.get(sequence) ?? 0;
        problem = `the hub does not accept frames of ${formatTime(frame.timeMs)}, and their right time is not known`;
        continue;
      }
      restampedSamples += samples.get(sequence) ?? 0;
      frames.push({ ...frame, timeMs });
    }
    return {
      frames,
      lostSamples,
      restampedSamples,
      ...(problem !== undefined && { problem }),
    };
  }

  /** Corrections are logged once a minute at most. */
  acknowledged({ restampedSamples: samples }: PushBatch): void {
    this.#because = undefined;
    if (samples === 0) return;
    this.#restampedSamples += samples;
    const { clock, log, to } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#loggedMs < logEveryMs) return;
    this.#loggedMs = nowMs;
    log.warn("frames that were stamped by a clock that was wrong are sent with their right time", {
      to,
      samples,
    });
  }
}

/** A time that is no date, which a stream may have, is shown as the number it is. */
const formatTime = (ms: number): string =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);
