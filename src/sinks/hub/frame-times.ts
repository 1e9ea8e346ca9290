/**
 * Handles frames whose timestamp the hub does not accept. While the two clocks disagree, frames are held. Once they
 * agree, frames that this machine stamped with a wrong clock get a corrected timestamp; if that is unknown, they are
 * dropped, counted and logged, so that they do not block the queue.
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
  /** The spool's folder. */
  readonly folder: string;
  /** The spool position of the next frame. */
  readonly nextPosition: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The contents of a request, without frames that cannot be sent. */
export interface PushBatch {
  readonly frames: readonly PushFrame[];
  readonly lostSamples: number;
  readonly restampedSamples: number;
  /** Why samples are lost; absent if none are. */
  readonly problem?: string;
}

/** Frames are stamped before they are spooled, so they are not newer than now except for small clock corrections. */
const stampSlackMs = 1_000;
const logEveryMs = 60_000;

/** False for another machine's frames and for those of a stream, which this machine's clock did not stamp. */
export const isStampedHere = ({ host, tier }: Pick<PushFrame, "host" | "tier">): boolean =>
  host === "" && tier !== "stream";

export class FrameTimes {
  readonly #options: FrameTimesOptions;
  readonly #clockSteps: ClockSteps;
  #restampedSamples = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** The reason from the beginning of the hold, so that the log has it once. */
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

  /** Must be called before each append of a frame that this machine stamps. */
  observe(): void {
    this.#clockSteps.observe(this.#options.nextPosition());
  }

  /** Returns why frames are held: the hub would reject a frame stamped now, and so every new one until the clocks agree. */
  holdBecause(hub: HubClock): string | undefined {
    const nowMs = this.#options.clock.nowMs();
    if (isAccepted(hub, nowMs)) return undefined;
    const aheadMs = nowMs - hub.nowMs;
    const difference = formatDuration(Math.round(Math.abs(aheadMs) / 1_000) * 1_000);
    this.#because ??= `this machine's clock is ${difference} ${aheadMs > 0 ? "ahead of" : "behind"} the hub's (${formatTime(nowMs)} here, ${formatTime(hub.nowMs)} there): frames are held until the clocks agree; set the clock that is wrong`;
    return this.#because;
  }

  /** Called once the clocks agree: frames that the hub rejects were stamped before this machine's clock was set. */
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

  /** Logs corrections at most once a minute. */
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

/** A stream's timestamp may be outside the range of dates; it is then formatted as a number. */
const formatTime = (ms: number): string =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);
