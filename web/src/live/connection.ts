/**
 * A connection to the hub's live stream: opens the event stream, reopens it with exponential back-off, and closes it after a
 * silence. EventSource's own retry gives up permanently on a 503, so it is not used.
 */
import { applyChanges } from "../../../src/view/live/changes.ts";
import {
  type DecodedFleet,
  decodeFleet,
  decodeFrame,
  type WireFleetColumns,
  type WireFrameColumns,
} from "../../../src/view/live/fleet-columns.ts";
import type { LiveFrame, WireChanges, WireClosed } from "../../../src/view/live/protocol.ts";
import { retryDelayMs } from "./backoff.ts";

/** The hub sends at least every 1.3 s; after this silence the connection is dead even if it was not closed. */
const SILENT_MS = 6_000;
/** The first event of a large fleet takes long on a slow link, and only complete events are visible here. */
const FIRST_SILENT_MS = 60_000;

export type LinkState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  | { readonly kind: "lost"; readonly retryAtMs: number; readonly reason?: string };

/** The fleet that a page already has, and the time of its frame. */
export interface KnownFleet {
  readonly fleet: number;
  readonly timeMs: number;
}

interface StreamEvents {
  readonly fleet: WireFleetColumns;
  readonly frame: WireFrameColumns;
  readonly changes: WireChanges;
  readonly closed: WireClosed;
}

export interface LinkEvents {
  fleet(fleet: DecodedFleet): void;
  frame(frame: LiveFrame): void;
  state(state: LinkState): void;
}

export class LiveConnection {
  readonly #url: string;
  readonly #events: LinkEvents;
  #source: EventSource | undefined;
  /** The frame that the next `changes` event applies to. */
  #frame: LiveFrame | undefined;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, events: LinkEvents) {
    this.#url = url;
    this.#events = events;
  }

  /** @param known is not sent again */
  open(known?: KnownFleet): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const query =
      known === undefined ? "" : `&fleet=${known.fleet}&since=${Math.floor(known.timeMs)}`;
    const source = new EventSource(`${this.#url}?changes=1&columns=1${query}`);
    this.#source = source;
    this.#frame = undefined;
    this.#watch(known === undefined ? FIRST_SILENT_MS : SILENT_MS);
    const on = <Name extends keyof StreamEvents>(
      name: Name,
      take: (data: StreamEvents[Name]) => void,
    ): void =>
      source.addEventListener(name, (event: MessageEvent<string>) => {
        this.#received();
        take(JSON.parse(event.data) as StreamEvents[Name]);
      });
    on("fleet", (encoded) => {
      const fleet = decodeFleet(encoded);
      this.#frame = fleet.frame;
      this.#events.fleet(fleet);
    });
    on("frame", (encoded) => this.#show(decodeFrame(encoded)));
    on("changes", (changes) => {
      const frame = this.#frame && applyChanges(this.#frame, changes);
      if (frame === undefined) this.#lose();
      else this.#show(frame);
    });
    on("closed", (closed) => this.#lose(closed));
    source.addEventListener("error", () => this.#lose());
  }

  close(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = undefined;
  }

  /** Reconnects at once, for example after a laptop woke up or a network returned. */
  hurry(): void {
    if (this.#retry !== undefined) this.open();
  }

  #show(frame: LiveFrame): void {
    this.#frame = frame;
    this.#events.frame(frame);
  }

  #received(): void {
    this.#failures = 0;
    this.#watch(SILENT_MS);
    this.#events.state({ kind: "open" });
  }

  #watch(silentMs: number): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#lose(), silentMs);
  }

  #lose(closed?: WireClosed): void {
    if (this.#source === undefined) return;
    this.close();
    this.#failures += 1;
    const delayMs =
      closed === undefined
        ? retryDelayMs(this.#failures, Math.random())
        : closed.retryAfterSeconds * 1_000;
    this.#events.state({
      kind: "lost",
      retryAtMs: Date.now() + delayMs,
      ...(closed === undefined ? {} : { reason: closed.reason }),
    });
    this.#retry = setTimeout(() => this.open(), delayMs);
  }
}
