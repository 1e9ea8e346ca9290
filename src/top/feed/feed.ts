/** A feed delivers updates about GPUs until it is stopped, and reports a lost connection. */
import type { WireFleet } from "../../view/live/protocol.ts";
import type { FeedUpdate, Link } from "../model/picture.ts";

export interface FeedEvents {
  update(next: FeedUpdate): void;
  /** Delivers the curves of the time before. */
  recall(fleet: WireFleet): void;
  link(link: Link): void;
}

export interface Feed {
  start(): void;
  stop(): Promise<void>;
}

/** Back-off between two attempts. */
export const feedBackoff = { firstMs: 500, longestMs: 10_000 };
