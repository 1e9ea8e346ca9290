/**
 * The page's line to the hub: opens the event stream, opens it again with growing waits when it breaks, and breaks it
 * itself when nothing comes. EventSource's own retry gives up for good on a 503, so it is not relied upon.
 */
import type { WireClosed, WireFleet, LiveFrame } from "../../../src/view/live/protocol.ts";
import { retryDelayMs } from "./backoff.ts";

/** The hub speaks at least every 1.3 s; after this long the line is dead though nobody closed it. */
const SILENT_MS = 6_000;

export type LinkState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  | { readonly kind: "lost"; readonly retryAtMs: number; readonly reason?: string };

export interface LinkEvents {
  fleet(fleet: WireFleet): void;
  frame(frame: LiveFrame): void;
  state(state: LinkState): void;
}

export class LiveLink {
  readonly #url: string;
  readonly #events: LinkEvents;
  /** What the page has already, as a query; only the first connection may leave it out. */
  #known: string;
  #source: EventSource | undefined;
  #failures = 0;
  #retry: number | undefined;
  #watchdog: number | undefined;

  constructor(url: string, known: string, events: LinkEvents) {
    this.#url = url;
    this.#known = known;
    this.#events = events;
  }

  start(): void {
    this.#open();
    // A laptop that wakes or a network that returns is worth a try at once.
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#hurry();
    });
  }

  #open(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const source = new EventSource(this.#url + this.#known);
    this.#known = "";
    this.#source = source;
    this.#watch();
    source.addEventListener("fleet", (message: MessageEvent<string>) => {
      this.#lastMessage();
      this.#events.fleet(JSON.parse(message.data) as WireFleet);
    });
    source.addEventListener("frame", (message: MessageEvent<string>) => {
      this.#lastMessage();
      this.#events.frame(JSON.parse(message.data) as LiveFrame);
    });
    source.addEventListener("closed", (message: MessageEvent<string>) =>
      this.#lose(JSON.parse(message.data) as WireClosed),
    );
    source.addEventListener("error", () => this.#lose());
  }

  #lastMessage(): void {
    this.#failures = 0;
    this.#watch();
    this.#events.state({ kind: "open" });
  }

  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#lose(), SILENT_MS);
  }

  #lose(closed?: WireClosed): void {
    if (this.#source === undefined) return;
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = undefined;
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
    this.#retry = setTimeout(() => this.#open(), delayMs);
  }

  #hurry(): void {
    if (this.#retry !== undefined) this.#open();
  }
}
