/** Beats once a second: takes the newest frames into the fleet and sends them to the open pages. Holds the only timers. */
import type { Queryable } from "../../store/select.ts";
import type { LatestFrames } from "../../sinks/latest/latest.ts";
import type { FleetIdentity } from "./fleet.ts";
import { Fleet, HISTORY_SECONDS } from "./fleet.ts";
import { readPast } from "./prime.ts";
import type { WireFleet } from "./protocol.ts";
import { LiveStreams } from "./streams.ts";

/** Sources tick at the same instant; waiting this long puts them all into one frame. */
const GATHER_MS = 25;
/** Fast frames may come ten times a second; pages get one a second. */
const LEAST_GAP_MS = 800;
/** Without frames the page still hears how old its numbers grow. */
const MOST_GAP_MS = 1_300;
const HEARTBEAT_MS = 15_000;

export interface FeedOptions extends FleetIdentity {
  readonly latest: LatestFrames;
  readonly nowMs: () => number;
  readonly problems: () => readonly string[];
  readonly maxPages: number;
}

export class LiveFeed {
  readonly streams: LiveStreams;
  readonly #options: FeedOptions;
  readonly #fleet: Fleet;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #next: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #lastBeatMs = Number.NEGATIVE_INFINITY;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#fleet = new Fleet(options);
    this.streams = new LiveStreams(options.maxPages);
    this.#heartbeat = setInterval(() => this.streams.beat(), HEARTBEAT_MS);
    this.#unsubscribe = options.latest.subscribe((delivery) => {
      if (delivery.tier === "fast" || delivery.tier === "stream") this.#hear();
    });
    this.#beat();
  }

  /** What is true at this instant, newer frames than the last beat's included. */
  describe(): WireFleet {
    const { changed } = this.#take();
    if (changed) this.#send(true);
    return this.#fleet.describe();
  }

  /** Fills the curves with what is remembered from before this start. */
  async prime(store: Queryable): Promise<void> {
    const nowMs = this.#options.nowMs();
    this.#fleet.prime(await readPast(store, nowMs - HISTORY_SECONDS * 1_000, nowMs));
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#next);
    clearTimeout(this.#gathering);
    this.streams.close();
  }

  #hear(): void {
    if (this.#gathering !== undefined || this.#options.nowMs() - this.#lastBeatMs < LEAST_GAP_MS)
      return;
    this.#gathering = setTimeout(() => this.#beat(), GATHER_MS);
  }

  #beat(): void {
    clearTimeout(this.#next);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#lastBeatMs = this.#options.nowMs();
    this.#next = setTimeout(() => this.#beat(), MOST_GAP_MS);
    this.#send(this.#take().changed);
  }

  #take(): { changed: boolean } {
    const nowMs = this.#options.nowMs();
    return this.#fleet.update(this.#options.latest.at(nowMs), this.#options.problems(), nowMs);
  }

  #send(devicesChanged: boolean): void {
    const messages = {
      fleet: () => JSON.stringify(this.#fleet.describe()),
      frame: () => JSON.stringify(this.#fleet.frame),
    };
    this.streams.send(messages, devicesChanged, this.#options.nowMs());
  }
}
