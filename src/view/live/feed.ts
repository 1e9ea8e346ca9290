/**
 * Updates the fleet from the newest frames once a second and sends it to the open pages. Owns the only timers. Without a page, only
 * the curves are updated that often. If the fleet is so large that this takes long, updates are less frequent, so that receivers
 * and queries always get most of the processor.
 */
import type { Queryable } from "../../model/select.ts";
import type { LatestFrames } from "../../sinks/latest/latest.ts";
import { encodeChanges } from "./changes.ts";
import { encodeFleet, encodeFrame } from "./fleet-columns.ts";
import { type FleetIdentity, LiveFleet } from "./fleet.ts";
import { HISTORY_SECONDS } from "./history.ts";
import { readPast } from "./prime.ts";
import type { LiveFrame, WireDevice } from "./protocol.ts";
import type { SharedText } from "./shared-text.ts";
import { LiveStreams, sse } from "./streams.ts";

/** Sources tick at the same instant; this delay collects them all in one frame. */
const GATHER_MS = 25;
/** Sources may deliver ten fast frames a second; pages get one a second. */
const LEAST_GAP_MS = 800;
/** Without frames, pages still have to update the age of their readings. */
const MOST_GAP_MS = 1_300;
const HEARTBEAT_MS = 15_000;
/** Idle time per millisecond spent on pages; more if no page is open. 10,000 GPUs take 250 ms per update. */
const REST_FACTOR = 4;
const IDLE_REST_FACTOR = 19;
/**
 * Time between updates of devices and rows if no page is open: a page that opens causes one, and until then they only keep limits
 * of devices that stop reporting. With 1,600 GPUs, updates a second were a sixth of the hub's processor time.
 */
const IDLE_UPDATE_MS = 15_000;

/** A page that opens its stream within this time after its HTML was made has at most a short gap in its curves. */
const KNOWN_FLEET_MS = 10_000;

export interface FeedOptions extends FleetIdentity {
  readonly latest: LatestFrames;
  readonly nowMs: () => number;
  readonly problems: () => readonly string[];
  readonly maxPages: number;
}

export class LiveFeed {
  readonly streams: LiveStreams;
  readonly #options: FeedOptions;
  readonly #fleet: LiveFleet;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #next: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #lastBeatMs = Number.NEGATIVE_INFINITY;
  #lastUpdateMs = Number.NEGATIVE_INFINITY;
  #restMs = 0;
  readonly #startedMs: number;
  /** By whether it is in columns. */
  readonly #descriptions = new Map<boolean, FleetDescription>();
  #lastSent: LiveFrame | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#startedMs = options.nowMs();
    this.#fleet = new LiveFleet(options);
    this.streams = new LiveStreams(options.maxPages);
    this.#heartbeat = setInterval(() => this.streams.beat(), HEARTBEAT_MS);
    this.#unsubscribe = options.latest.subscribe((delivery) => {
      if (delivery.tier === "fast" || delivery.tier === "stream") this.#hear();
    });
    this.#beat();
  }

  /** Returns the current state, including frames newer than the last update. Pages that open at the same time share it. */
  describe(isColumns: boolean): Buffer {
    return this.#describe(isColumns).json;
  }

  /** Returns the same as an event of the live stream. */
  describeEvent(isColumns: boolean): { readonly event: SharedText; readonly frameMs: number } {
    const description = this.#describe(isColumns);
    description.event ??= sse("fleet", description.json.toString());
    return { event: description.event, frameMs: description.frame.timeMs };
  }

  #describe(isColumns: boolean): FleetDescription {
    const beganMs = this.#options.nowMs();
    const known = this.#descriptions.get(isColumns);
    if (known !== undefined && beganMs < known.goodUntilMs) return known;
    const { changed } = this.#take();
    if (changed) this.#send(true);
    const json = Buffer.from(this.#fleetJson(isColumns));
    const nowMs = this.#options.nowMs();
    const goodUntilMs = nowMs + (nowMs - beganMs) * REST_FACTOR;
    const description = { json, frame: this.#fleet.frame, goodUntilMs, event: undefined };
    this.#descriptions.set(isColumns, description);
    return description;
  }

  #fleetJson(isColumns: boolean): string {
    const fleet = this.#fleet.describe();
    return JSON.stringify(isColumns ? encodeFleet(fleet) : fleet);
  }

  get devices(): readonly WireDevice[] {
    return this.#fleet.devices;
  }

  /** True if a page that was sent fleet `fleet` at `timeMs` lacks only the newest frame. */
  isCurrent(fleet: number, timeMs: number): boolean {
    const { frame } = this.#fleet;
    return (
      fleet === frame.fleet &&
      timeMs >= this.#startedMs &&
      this.#options.nowMs() - timeMs <= KNOWN_FLEET_MS
    );
  }

  /** Fills the curves from the store, for the time before this start. */
  async prime(store: Queryable): Promise<void> {
    const { host } = this.#options;
    const nowMs = this.#options.nowMs();
    this.#fleet.prime(await readPast(store, nowMs - HISTORY_SECONDS * 1_000, nowMs, host));
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#next);
    clearTimeout(this.#gathering);
    this.streams.close();
  }

  #hear(): void {
    const sinceMs = this.#options.nowMs() - this.#lastBeatMs;
    if (this.#gathering !== undefined || sinceMs < Math.max(LEAST_GAP_MS, this.#restMs)) return;
    this.#gathering = setTimeout(() => this.#beat(), GATHER_MS);
  }

  #beat(): void {
    clearTimeout(this.#next);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const beganMs = this.#options.nowMs();
    this.#lastBeatMs = beganMs;
    const isIdle = this.streams.count === 0;
    const isEnough =
      isIdle &&
      beganMs - this.#lastUpdateMs < IDLE_UPDATE_MS &&
      this.#fleet.updateCurves(this.#options.latest.at(beganMs), beganMs);
    if (!isEnough) this.#send(this.#take().changed);
    const restFactor = isIdle ? IDLE_REST_FACTOR : REST_FACTOR;
    this.#restMs = Math.max(0, this.#options.nowMs() - beganMs) * (1 + restFactor);
    this.#next = setTimeout(() => this.#beat(), Math.max(MOST_GAP_MS, this.#restMs));
  }

  #take(): { changed: boolean } {
    const nowMs = this.#options.nowMs();
    this.#lastUpdateMs = nowMs;
    return this.#fleet.update(this.#options.latest.at(nowMs), this.#options.problems(), nowMs);
  }

  #send(devicesChanged: boolean): void {
    // A page drops rows of a different fleet than its own.
    if (devicesChanged) this.#descriptions.clear();
    const { frame } = this.#fleet;
    const described = [...this.#descriptions.values()].map((description) => description.frame);
    const bases = [this.#lastSent, ...described];
    const messages = {
      fleet: (isColumns: boolean) => this.#fleetJson(isColumns),
      frame: (isColumns: boolean) => JSON.stringify(isColumns ? encodeFrame(frame) : frame),
      changes: (baseMs: number) => {
        const base = bases.find((one) => one?.timeMs === baseMs);
        const changes = base && encodeChanges(base, frame);
        return changes && JSON.stringify(changes);
      },
      frameMs: frame.timeMs,
    };
    this.streams.send(messages, devicesChanged, this.#options.nowMs());
    this.#lastSent = frame;
  }
}

interface FleetDescription {
  readonly json: Buffer;
  readonly frame: LiveFrame;
  readonly goodUntilMs: number;
  event: SharedText | undefined;
}
