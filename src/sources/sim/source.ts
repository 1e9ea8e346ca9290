/** The simulator as a source: polled at the wall clock's pace or a multiple of it, or streamed as fast as it is consumed. */
import type { Tier } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { PolledSource, StreamingSource } from "../source.ts";
import type { Emitter } from "./emit/emitter.ts";
import type { SimFleet } from "./fleet/fleet.ts";
import type { Follower } from "./follow/follower.ts";

/* Converts between wall-clock time and the simulation's virtual time. */

/**
 * A larger step of the wall clock between two reads means that the clock was set: the simulation then continues from its current
 * state. Otherwise it would simulate days in one read, or stop until the clock has caught up.
 */
const longestStepMs = 86_400_000;
const longestStepBackMs = 60_000;

export class VirtualTime {
  readonly #startMs: number;
  readonly #speed: number;
  #originMs: number;
  #readMs: number;

  /** Starts on a whole second, so that two runs polled on whole seconds have the same virtual times. */
  constructor(startMs: number, createdMs: number, speed: number) {
    this.#startMs = startMs;
    this.#speed = speed;
    this.#originMs = Math.floor(createdMs / 1_000) * 1_000;
    this.#readMs = createdMs;
  }

  /** Must be called with the time of each read. */
  follow(wallMs: number): void {
    const stepMs = wallMs - this.#readMs;
    if (stepMs > longestStepMs || stepMs < -longestStepBackMs) this.#originMs += stepMs;
    this.#readMs = wallMs;
  }

  /** Virtual milliseconds since the start. */
  elapsedMs(wallMs: number): number {
    return Math.max(0, (wallMs - this.#originMs) * this.#speed);
  }

  /** Converts a virtual date to the frame's timestamp. */
  frameMs(virtualMs: number): number {
    return this.#originMs + (virtualMs - this.#startMs) / this.#speed;
  }
}

const tiers: readonly Tier[] = ["fast", "slow", "static"];

export class SimulatedSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers = tiers;
  readonly #fleet: SimFleet;
  readonly #emitter: Emitter;
  readonly #time: VirtualTime;
  readonly #speed: number;
  readonly #follower: Follower | undefined;
  readonly #hanging = new Set<NodeJS.Timeout>();

  constructor(
    fleet: SimFleet,
    emitter: Emitter,
    time: VirtualTime,
    speed: number,
    follower?: Follower,
  ) {
    this.#fleet = fleet;
    this.#emitter = emitter;
    this.#time = time;
    this.#speed = speed;
    this.#follower = follower;
  }

  devices(): readonly Device[] {
    return this.#fleet.devices;
  }

  lossOf(): string {
    return "fault gpu-lost of the simulation";
  }

  read(tier: Tier, timeMs: number): Frame | Promise<Frame> {
    this.#time.follow(timeMs);
    const elapsedMs = this.#time.elapsedMs(timeMs);
    const hangsForMs = this.#fleet.hangsForMs(elapsedMs);
    if (hangsForMs > 0) return this.#hang(tier, timeMs, hangsForMs / this.#speed);
    this.#fleet.advanceTo(elapsedMs);
    return this.#emitter.frame(tier, timeMs, (virtualMs) => this.#time.frameMs(virtualMs));
  }

  /** Simulates a hanging driver: it ignores signals and returns long after every deadline. */
  #hang(tier: Tier, timeMs: number, forMs: number): Promise<Frame> {
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => {
          this.#hanging.delete(timer);
          this.#fleet.advanceTo(this.#time.elapsedMs(timeMs + forMs));
          resolve(this.#emitter.frame(tier, timeMs, (virtualMs) => this.#time.frameMs(virtualMs)));
        },
        Math.min(forMs, 2 ** 31 - 1),
      );
      timer.unref();
      this.#hanging.add(timer);
    });
  }

  async close(): Promise<void> {
    for (const timer of this.#hanging) clearTimeout(timer);
    this.#hanging.clear();
    await this.#follower?.close();
  }
}

interface StreamPace {
  readonly fastEveryMs: number;
  readonly slowEveryMs: number;
  readonly staticEveryMs: number;
  readonly durationMs: number;
}

/** Streams every frame of a span of virtual time, in order, with virtual timestamps. */
export class SimulatedStream implements StreamingSource {
  readonly shape = "streaming";
  readonly #fleet: SimFleet;
  readonly #emitter: Emitter;
  readonly #pace: StreamPace;

  constructor(fleet: SimFleet, emitter: Emitter, pace: StreamPace) {
    this.#fleet = fleet;
    this.#emitter = emitter;
    this.#pace = pace;
  }

  devices(): readonly Device[] {
    return this.#fleet.devices;
  }

  async run(emit: (frame: Frame) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { fastEveryMs, slowEveryMs, staticEveryMs, durationMs } = this.#pace;
    for (let elapsedMs = 0; elapsedMs < durationMs && !signal.aborted; elapsedMs += fastEveryMs) {
      this.#fleet.advanceTo(elapsedMs);
      // A hung driver returns nothing, so there are no frames for these instants.
      if (this.#fleet.hangsForMs(elapsedMs) > 0) continue;
      const timeMs = this.#fleet.startMs + elapsedMs;
      if (elapsedMs % staticEveryMs === 0) await emit(this.#frame("static", timeMs));
      if (elapsedMs % slowEveryMs === 0) await emit(this.#frame("slow", timeMs));
      await emit(this.#frame("fast", timeMs));
    }
  }

  #frame(tier: Tier, timeMs: number): Frame {
    return this.#emitter.frame(tier, timeMs, (virtualMs) => virtualMs);
  }

  close(): void {}
}
